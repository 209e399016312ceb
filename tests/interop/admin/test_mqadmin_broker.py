"""Tests that mqadmin prints the same about Gantry's broker as about Java's.

INTEROP_BROKER=java tests a second Java broker instead, which must pass too: a test that fails there
is wrong about Java. What may differ is in admin_commands, each with its reason; Gantry's remarks
may also be longer than Java's. Exports and the name server's commands have modules of their own.
"""

import json
import re
from collections.abc import Set as AbstractSet
from pathlib import Path

import pytest

from gantrymq.interop.admin import admin_commands
from gantrymq.interop.admin.admin_commands import (
    ACCOUNTS_OF_4,
    GANTRY_ONLY_FIGURES,
    GANTRY_ONLY_SETTINGS,
    JAVA_ONLY_TOPICS_AND_GROUPS,
    LEFT_OUT,
    MODES_OF_GROUPS,
    PLACES_IN_SETTINGS,
    READS,
    READS_OF_5,
    READS_OF_5_5,
    REFUSED,
    REFUSED_OF_5,
    USERS_AND_RIGHTS,
)
from gantrymq.interop.admin.admin_pair import Pair, lines
from gantrymq.interop.admin.admin_sides import CLUSTER, GROUP, PRODUCERS, TOPIC
from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.clients.drivers import MqAdmin

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.mark.parametrize("command", READS)
def test_the_same_is_printed(both: Pair, command: str) -> None:
    if not both.is_of_5 and command.startswith("queryMsgById"):
        command = command.removesuffix(f" -t {TOPIC}")
    both.same(command)


@pytest.mark.parametrize("command", [*READS_OF_5, *READS_OF_5_5])
def test_the_same_is_printed_by_the_newer_tool(of_5: Pair, command: str) -> None:
    of_5.same(command)


@pytest.mark.parametrize("command", REFUSED)
def test_request_that_java_silently_accepts_is_refused(
    both: Pair, kind: BrokerKind, command: str
) -> None:
    _assert_refused(both, kind, command, REFUSED[command])


@pytest.mark.parametrize("command", REFUSED_OF_5)
def test_unserved_request_is_refused_with_the_reason(
    of_5: Pair, kind: BrokerKind, command: str
) -> None:
    _assert_refused(of_5, kind, command, REFUSED_OF_5[command])


@pytest.mark.parametrize("command", MODES_OF_GROUPS)
def test_request_mode_of_groups_can_be_set(of_5: Pair, command: str) -> None:
    of_5.same(command)


def _assert_refused(pair: Pair, kind: BrokerKind, command: str, told: str) -> None:
    if kind is BrokerKind.JAVA:
        pair.same(command)
        return
    reference, subject = pair.outputs(command)
    assert "DESC" not in reference
    assert told in subject


@pytest.mark.parametrize("command", USERS_AND_RIGHTS)
def test_users_and_rights_are_refused_by_both(of_5: Pair, command: str) -> None:
    _assert_refused_by_both(of_5, command)


@pytest.mark.parametrize("command", ACCOUNTS_OF_4)
def test_accounts_are_refused_by_both(of_4: Pair, command: str) -> None:
    _assert_refused_by_both(of_4, command)


def _assert_refused_by_both(pair: Pair, command: str) -> None:
    for output in pair.outputs(command):
        assert re.search(r"CODE: [1-9]\d*  DESC: .", output)


def test_each_command_of_the_tool_is_tested_or_left_out_for_a_reason(admin: MqAdmin) -> None:
    admin.order([])
    commands = re.findall(r"^   (\w+) ", str(admin.outcome()["out"]), re.MULTILINE)
    modules = [Path(str(admin_commands.__file__))]
    modules += Path(__file__).parent.glob("test_mqadmin_broker*.py")
    sources = "".join(module.read_text() for module in modules)
    asked = {*re.findall(r"\"(\w+)[ \"]", sources), *LEFT_OUT}
    assert len(commands) > 50
    assert [each for each in commands if each not in asked] == []


# ------------------------------------------------------------------ figures of the moment


def test_cluster_list(both: Pair, kind: BrokerKind) -> None:
    reference, subject = (lines(output) for output in both.outputs("clusterList"))
    words = [[line.split() for line in side] for side in (reference, subject)]
    assert [line[:4] for line in words[0][:2]] == [line[:4] for line in words[1][:2]]
    assert words[1][1][4] == "V5_3_3"
    if both.is_of_5:
        assert [len(line) for line in words[0]] == [len(line) for line in words[1]]
    elif kind is BrokerKind.GANTRY:
        assert "NullPointerException" in reference[2], "Java's broker has no getTransferedTps"
        assert len(subject) == 2


def test_cluster_list_with_totals(both: Pair) -> None:
    both.same("clusterList -m")


@pytest.mark.parametrize("where", ["-b {broker}", f"-c {CLUSTER}"])
def test_broker_status(both: Pair, kind: BrokerKind, where: str) -> None:
    reference, subject = (
        dict(re.findall(r"^(?:<address> +)?(\w[^ :]*) *: (.*)$", output, re.MULTILINE))
        for output in both.outputs(f"brokerStatus {where}")
    )
    own = set(GANTRY_ONLY_FIGURES) if kind is BrokerKind.GANTRY else set()
    assert subject.keys() - reference.keys() == own
    assert reference.keys() <= subject.keys()
    steady = {
        *("brokerVersion", "brokerVersionDesc", "msgPutTotalTodayNow", "commitLogMinOffset"),
        *("dispatchMaxBuffer", "startAcceptSendRequestTimeStamp", "putMessageFailedTimes"),
        *("sendThreadPoolQueueCapacity", "msgPutTotalYesterdayMorning", "brokerActive"),
    }
    assert {key: subject[key] for key in steady} == {key: reference[key] for key in steady}
    for key in ("putMessageDistributeTime", "commitLogDirCapacity", "getMessageEntireTimeMax"):
        shapes = {_without_figures(side[key]) for side in (reference, subject)}
        # Java has no distribution in its first minute, and the brokers differ in age.
        assert len(shapes - {"null"}) <= 1, key
    # Both stores are on one disk: its free space changes between two queries, its size does not.
    assert (
        subject["commitLogDirCapacity"].split(",")[0]
        == (reference["commitLogDirCapacity"].split(",")[0])
    )


def _without_figures(value: str) -> str:
    """The text with counts after a colon and sizes replaced; names of classes stay."""
    return re.sub(r"(?<=:)\d+|(?<=: )\d+\.\d|^\d+$", "<n>", value.strip())


def test_running_info_of_a_consumer(both: Pair) -> None:
    both.same_but_figures(f"consumerStatus -i {{client}} -g {GROUP}")


def test_thread_dump_of_a_consumer(both: Pair) -> None:
    for output in both.outputs(f"consumerStatus -i {{client}} -g {GROUP} -s"):
        assert "ConsumeMessageThread_" in output


def test_statistics_of_a_topic(both: Pair, kind: BrokerKind) -> None:
    reference, subject = (_first_two_words(o) for o in both.outputs(f"statsAll -t {TOPIC}"))
    _assert_same_but_the_topic_as_a_group(kind, reference, subject)


def test_topics_with_their_clusters_and_groups(both: Pair, kind: BrokerKind) -> None:
    reference, subject = (
        {(words[1], words[-1]) for words in _words(output) if words[1] == TOPIC}
        for output in both.outputs("topicList -c")
    )
    _assert_same_but_the_topic_as_a_group(kind, reference, subject)


def _assert_same_but_the_topic_as_a_group(
    kind: BrokerKind, reference: AbstractSet[tuple[str, ...]], subject: AbstractSet[tuple[str, ...]]
) -> None:
    """Java names the topic itself among the groups that consume it."""
    assert (TOPIC, GROUP) in subject
    own = {(TOPIC, TOPIC)} if kind is BrokerKind.GANTRY else set()
    assert reference - subject == own
    assert subject <= reference


@pytest.mark.parametrize(
    "command",
    [
        f"queryMsgById -i {{offset_id}} -t {TOPIC}",
        f"queryMsgByUniqueKey -t {TOPIC} -i {{id}}",
        f"queryMsgByOffset -t {TOPIC} -b broker-admin -i 0 -o 1",
    ],
)
def test_groups_that_have_consumed_a_message(both: Pair, command: str) -> None:
    """Java also looks up the topic as a group, and fails."""
    if not both.is_of_5:
        command = command.replace(f"{{offset_id}} -t {TOPIC}", "{offset_id}")
    failure = rf"MessageTrack \[consumerGroup={TOPIC}, (.|\n)*?\)\]"
    reference, subject = (re.sub(failure, "", output) for output in both.outputs(command))
    assert lines(subject) == lines(reference)
    assert "[consumerGroup=AdminGroup, trackType=CONSUMED, " in subject


def test_the_filter_of_a_group_is_shown_for_each_unit(both: Pair, kind: BrokerKind) -> None:
    """Java evaluates the filter only for units that have an extension."""
    reference, subject = both.outputs(f"queryCq -t {TOPIC} -q 0 -i 0 -c 3 -g {GROUP}")
    assert ("eval=true" in subject) == (kind is BrokerKind.GANTRY)
    assert lines(subject.replace("eval=true", "eval=false")) == lines(reference)


def _words(output: str) -> list[list[str]]:
    return [line.split() for line in lines(output)]


def _first_two_words(output: str) -> set[tuple[str, ...]]:
    return {tuple(words[:2]) for words in _words(output)[1:]}


# ------------------------------------------------------------------ lists


def test_topic_list(both: Pair) -> None:
    reference, subject = (set(lines(output)) for output in both.outputs("topicList"))
    assert TOPIC in subject
    assert subject <= reference
    assert reference - subject <= JAVA_ONLY_TOPICS_AND_GROUPS


def test_producers(both: Pair) -> None:
    """The tool's own producers appear and disappear."""
    reference, subject = (
        {line for line in lines(output) if "-admin-" in line}
        for output in both.outputs("producer -b {broker}")
    )
    assert subject == reference
    assert any(PRODUCERS in line for line in subject)


def test_consumers_of_all_topics(both: Pair) -> None:
    reference, subject = (
        sorted(_words(output)) for output in both.outputs("brokerConsumeStats -b {broker}")
    )
    assert subject == reference


def test_progress_of_all_groups(both: Pair) -> None:
    reference, subject = (
        {(words[0], words[-1]) for words in _words(output)}
        for output in both.outputs("consumerProgress")
    )
    assert subject == reference
    assert (GROUP, "0") in subject


# ------------------------------------------------------------------ settings


@pytest.mark.parametrize("where", ["-b {broker}", f"-c {CLUSTER}"])
def test_settings(both: Pair, kind: BrokerKind, where: str) -> None:
    """Java's other settings have no effect in Gantry and are not shown."""
    reference, subject = (
        dict(re.findall(r"^(\w+) +=  (.*)$", output, re.MULTILINE))
        for output in both.outputs(f"getBrokerConfig {where}")
    )
    own = set(GANTRY_ONLY_SETTINGS) if kind is BrokerKind.GANTRY else set()
    assert subject.keys() - reference.keys() <= own
    common = (reference.keys() & subject.keys()) - PLACES_IN_SETTINGS - own
    assert {key: subject[key] for key in common} == {key: reference[key] for key in common}
    assert len(common) > 80


@pytest.mark.parametrize("where", ["-b {broker}", f"-c {CLUSTER}"])
def test_a_setting_is_updated(both: Pair, where: str) -> None:
    key = "transactionCheckMax"
    try:
        both.same(f"updateBrokerConfig {where} -k {key} -v 7")
        for output in both.outputs("getBrokerConfig -b {broker}"):
            assert re.search(rf"^{key} +=  7$", output, re.MULTILINE)
    finally:
        both.same(f"updateBrokerConfig {where} -k {key} -v 15")


# ------------------------------------------------------------------ topics and groups


def test_topic_is_created_changed_and_deleted(both: Pair) -> None:
    topic = f"Living-{both.admin.version[0]}"
    both.same(f"updateTopic -b {{broker}} -t {topic}")
    both.same(f"updateTopic -c {CLUSTER} -t {topic} -r 4 -w 4 -p 6 -o true")
    both.same(f"updateTopicPerm -b {{broker}} -t {topic} -p 4")
    both.same(f"updateTopicPerm -b {{broker}} -t {topic} -p 4")
    assert '"perm":4' in "".join(both.same(f"topicRoute -t {topic}"))
    both.same(f"updateTopicPerm -c {CLUSTER} -t {topic} -p 6")
    both.same(f"deleteTopic -t {topic} -c {CLUSTER}")
    assert "CODE: 17" in "".join(both.same(f"topicStatus -t {topic}"))


def test_attributes_of_a_topic(of_5: Pair) -> None:
    update = "updateTopic -b {broker} -t Attributed -a "
    of_5.same(f"{update}+message.type=FIFO")
    of_5.same(f"{update}+no.such.attribute=1")
    for output in of_5.outputs(f"{update}+message.type=NONE"):
        assert "CODE: 1  DESC: value is not in set: [UNSPECIFIED, " in output


def test_messages_are_sent(both: Pair) -> None:
    topic, _ = both.prepare("Sent")
    both.same(f"sendMessage -t {topic} -p hello -k key -c TagA")
    both.same(f"sendMessage -t {topic} -p hello -b broker-admin -i 0")
    both.same("sendMsgStatus -b broker-admin -s 64 -c 2")
    both.same_but_figures(f"checkMsgSendRT -t {topic} -a 2 -s 16")
    both.same(f"topicStatus -t {topic}")


def test_group_is_created_changed_and_deleted(both: Pair) -> None:
    group = f"LivingGroup-{both.admin.version[0]}"
    options = "-s true -m false -d false -q 2 -r 3 -i 0 -w 1 -a true"
    both.same(f"updateSubGroup -b {{broker}} -g {group}")
    both.same(f"getConsumerConfig -g {group}")
    both.same(f"updateSubGroup -c {CLUSTER} -g {group} {options}")
    both.same(f"getConsumerConfig -g {group}")
    both.same(f"deleteSubGroup -b {{broker}} -g {group}")
    both.same(f"deleteSubGroup -c {CLUSTER} -g {group} -r true")


@pytest.mark.parametrize(
    ("command", "listed"),
    [
        ("updateTopicList", [{"topicName": "Listed-1"}, {"topicName": "Listed-2", "perm": 4}]),
        ("updateSubGroupList", [{"groupName": "Listed-1"}, {"groupName": "Listed-2"}]),
    ],
)
def test_lists_of_topics_and_groups_are_created(of_5: Pair, command: str, listed: object) -> None:
    for side in of_5.sides:
        side.export_folder.mkdir(exist_ok=True)
        (side.export_folder / f"{command}.json").write_text(json.dumps(listed))
    of_5.same(f"{command} -b {{broker}} -f {{folder}}/{command}.json")
    of_5.same("getConsumerConfig -g Listed-2")
    of_5.same("topicRoute -t Listed-2")


# ------------------------------------------------------------------ offsets


def test_offsets_are_cloned(both: Pair) -> None:
    topic, group = both.prepare("Cloned")
    both.same(f"updateSubGroup -b {{broker}} -g {group}-2")
    both.same(f"cloneGroupOffset -s {group} -d {group}-2 -t {topic}")
    both.same(f"consumerProgress -g {group}-2")


@pytest.mark.parametrize("moment", ["0", "now", "2200-01-01#00:00:00:000"])
def test_offsets_are_reset_by_time(both: Pair, moment: str) -> None:
    topic, group = both.prepare("Reset")
    both.same(f"consumerProgress -g {group}")
    both.same(f"resetOffsetByTime -g {group} -t {topic} -s {moment}")
    both.same(f"consumerProgress -g {group}")


def test_one_queue_is_reset(of_5: Pair) -> None:
    topic, group = of_5.prepare("ResetOne")
    of_5.same(f"resetOffsetByTime -g {group} -t {topic} -s 0 -b {{broker}} -q 0 -o 2")
    of_5.same(f"resetOffsetByTime -g {group} -t {topic} -s 0 -b {{broker}} -q 0 -o 99")
    of_5.same(f"consumerProgress -g {group}")


def test_waiting_messages_are_skipped(both: Pair) -> None:
    topic, group = both.prepare("Skipped")
    both.same(f"skipAccumulatedMessage -g {group} -t {topic}")
    both.same(f"consumerProgress -g {group}")


def test_a_running_consumer_is_reset(both: Pair) -> None:
    both.same(f"resetOffsetByTime -g {GROUP} -t {TOPIC} -s now")
    both.same(f"consumerProgress -g {GROUP}")
