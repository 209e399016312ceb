"""Tests that gantry prints what the real mqadmin prints, about a Java broker and about Gantry's.

What may differ is in cli_sides, each with its reason; refusals must have the same code and remark.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantrymq.interop.admin.admin_commands import READS, READS_OF_5
from gantrymq.interop.admin.admin_pair import _without_figures
from gantrymq.interop.admin.admin_sides import CLUSTER, GROUP, TOPIC, AdminSide, admin_sides
from gantrymq.interop.admin.cli_sides import gantry, lines, mqadmin, refusal
from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.clients.drivers import MqAdmin
from gantrymq.interop.releases import REFERENCE

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# Commands for which gantry prints something else, with the reason.
DIFFERENT = {
    **dict.fromkeys(
        ("consumerStatus", "allocateMQ"), "mqadmin writes files, or takes its order from a hash"
    ),
    "queryCq -t AdminTopic -q 0 -i 9999": "mqadmin prints a NullPointerException",
    f"queryMsgByOffset -t {TOPIC} -b broker-admin -i 0 -o 99": "mqadmin says nothing",
    **dict.fromkeys(
        ("getBrokerEpoch", "rocksDBConfigToJson", "addBroker", "removeBroker"), "not applicable"
    ),
    "deleteSubGroup -b {broker} -g NoSuchGroup": "changes something",
}
SHARED = [each for each in (*READS, *READS_OF_5) if not each.startswith(tuple(DIFFERENT))]
MORE_READS = (
    "consumerProgress",
    "topicList",
    "topicList -c",
    f"statsAll -t {TOPIC}",
    "getBrokerConfig -b {broker}",
    f"getBrokerConfig -c {CLUSTER}",
    "getNamesrvConfig",
    f"queryMsgById -i {{offset_id}} -t {TOPIC}",
    f"queryMsgByOffset -t {TOPIC} -b broker-admin -i 0 -o 1",
    f"queryMsgByUniqueKey -t {TOPIC} -i {{id}}",
    f"queryCq -t {TOPIC} -q 0 -i 0 -c 2 -g {GROUP}",
    f"printMsg -t {TOPIC} -s TagB",
)
SENDS = (
    "sendMessage -t CliSent -p hello -k key -c Tag -b broker-admin -i 1",
    "sendMessage -t CliSent -p hello",
    "sendMessage -t CliSent -p hello -b no-such-broker -i 1",
    "sendMessage -t CliSent -p hello -b broker-admin -i 99",
    "sendMsgStatus -b broker-admin -c 3",
    "sendMsgStatus -b broker-admin -s 1000 -c 1",
    "checkMsgSendRT -t CliSent -a 6 -s 10",
)
FIGURES = (
    "clusterList",
    "clusterList -m",
    "brokerStatus -b {broker}",
    f"brokerStatus -c {CLUSTER}",
)
CHANGES = (
    "updateTopic -b {broker} -t CliTopic",
    f"updateTopic -c {CLUSTER} -t CliTopic -r 4 -w 4 -o true",
    "updateOrderConf -t CliTopic -m get",
    "updateTopicPerm -b {broker} -t CliTopic -p 6",
    "updateTopic -b {broker} -t CliTyped -a +message.type=FIFO",
    "updateSubGroup -b {broker} -g CliGroup",
    f"updateSubGroup -c {CLUSTER} -g CliGroup -s true -m false -q 2 -r 3",
    "getConsumerConfig -g CliGroup",
    f"cloneGroupOffset -s {GROUP} -d CliGroup -t {TOPIC}",
    f"resetOffsetByTime -g CliGroup -t {TOPIC} -s 0",
    f"resetOffsetByTime -g CliGroup -t {TOPIC} -s now -b {{broker}} -q 0 -o 2",
    f"skipAccumulatedMessage -g CliGroup -t {TOPIC}",
    f"setConsumeMode -b {{broker}} -t {TOPIC} -g CliGroup -m PULL -q 0",
    "deleteSubGroup -b {broker} -g CliGroup",
    f"deleteSubGroup -c {CLUSTER} -g CliGroup -r true",
    f"deleteTopic -t CliTopic -c {CLUSTER}",
    "updateBrokerConfig -b {broker} -k transactionCheckMax -v 15",
    "updateKvConfig -s cli -k key -v value",
    "deleteKvConfig -s cli -k key",
    "wipeWritePerm -b broker-admin",
    "addWritePerm -b broker-admin",
    "updateNamesrvConfig -k productEnvName -v center",
    f"exportConfigs -c {CLUSTER} -f {{folder}}",
    "exportMetadata -b {broker} -f {folder} -t",
)


@pytest.fixture(scope="module")
def sides(folder: Callable[[str], Path]) -> Iterator[tuple[AdminSide, AdminSide]]:
    """Java's side and Gantry's, for the whole module."""
    with admin_sides(BrokerKind.GANTRY, folder) as pair:
        yield pair


@pytest.fixture(params=["java", "gantry"])
def side(request: pytest.FixtureRequest, sides: tuple[AdminSide, AdminSide]) -> AdminSide:
    """The side whose broker the tools query."""
    return sides[request.param == "gantry"]


@pytest.fixture
def admin(admins: Callable[[str], MqAdmin]) -> MqAdmin:
    """mqadmin of 5.3.3."""
    return admins(REFERENCE)


@pytest.mark.parametrize("command", [*SHARED, *MORE_READS])
def test_the_same_is_printed(admin: MqAdmin, side: AdminSide, command: str) -> None:
    _assert_same(admin, side, command)


def test_output_of_changes_is_the_same(admin: MqAdmin, side: AdminSide) -> None:
    for command in CHANGES:
        _assert_same(admin, side, command)


def _assert_same(admin: MqAdmin, side: AdminSide, command: str) -> None:
    theirs = mqadmin(admin, side, command)
    ours = gantry(side, command)
    refused = refusal(theirs)
    if refused is not None and "MessageTrack" not in theirs:
        assert refusal(ours.text) == refused, ours.text
        assert ours.exit_code == 1
        return
    assert lines(side, command, ours.text) == lines(side, command, theirs), command
    assert ours.exit_code == 0


@pytest.mark.parametrize("command", FIGURES)
def test_same_except_for_figures_is_printed(admin: MqAdmin, side: AdminSide, command: str) -> None:
    theirs, ours = (
        sorted(_shape(side.without_place(text)))
        for text in (mqadmin(admin, side, command), gantry(side, command).text)
    )
    assert ours == theirs


def test_output_of_sends_is_the_same(admin: MqAdmin, side: AdminSide) -> None:
    made = "updateTopic -c interop -t CliSent -r 4 -w 4"
    mqadmin(admin, side, made)
    for command in SENDS:
        theirs, ours = mqadmin(admin, side, command), gantry(side, command)
        refused = refusal(theirs)
        if "Exception" in theirs:
            assert ours.exit_code == 1, command
            assert refusal(ours.text) == refused, ours.text
            continue
        assert ours.exit_code == 0, ours.text
        both = (_shape(_any_queue(side.without_place(text))) for text in (theirs, ours.text))
        assert next(both) == next(both), command
    mqadmin(admin, side, f"deleteTopic -t CliSent -c {CLUSTER}")


def _any_queue(text: str) -> str:
    """Remove the queue's number and the time, which differ with each run."""
    return re.sub(r"(queueId=|queueOffset=|rt=|offsetMsgId=)\w+", r"\1<n>", text)


def test_times_of_a_cluster_have_the_same_titles(side: AdminSide) -> None:
    """mqadmin's clusterRT never ends, so only the first output is compared."""
    ours = gantry(side, f"clusterRT -a 3 -s 10 -c {CLUSTER}")
    titles, row = ours.text.splitlines()
    assert titles == (
        "#Cluster Name             #Broker Name              #RT   #successCount  #failCount"
    )
    assert re.fullmatch(r"interop +broker-admin +[\d.]+ +3 +0 *", row)


def test_output_of_a_trace_is_the_same(admin: MqAdmin, side: AdminSide) -> None:
    sent = gantry(side, "sendMessage -t broker-admin -p traced -m true")
    message_id = sent.text.split()[-1]
    command = f"queryMsgTraceById -i {message_id}"
    theirs = mqadmin(admin, side, command)
    ours = gantry(side, command)
    assert "gantry-tools" in theirs
    assert lines(side, command, ours.text) == lines(side, command, theirs)


def test_metrics_are_the_same_except_for_figures(admin: MqAdmin, side: AdminSide) -> None:
    command, file = f"exportMetrics -c {CLUSTER} -f {{folder}}", side.export_folder / "metrics.json"
    exported = []
    for run in (lambda: mqadmin(admin, side, command), lambda: gantry(side, command)):
        run()
        exported.append(_without_numbers(json.loads(file.read_text())))
    assert exported[0] == exported[1]


def test_messages_go_through_pipes(admin: MqAdmin, side: AdminSide) -> None:
    """With and without a group, by tags and by properties."""
    made = f"updateTopic -c {CLUSTER} -t CliPiped -r 2 -w 2"
    mqadmin(admin, side, made)
    sent = gantry(side, "produce -t CliPiped a b c --tag A --queue broker-admin:0 -p n=1")
    assert sent.exit_code == 0, sent.text
    gantry(side, "produce -t CliPiped d --tag B --order-by 4711 -p n=2")
    for options, bodies in (
        ("--timeout 2", "a b c d"),
        ("--filter B --timeout 2", "d"),
        ("--queue broker-admin:0 --from offset:1 --count 2", "b c"),
        ("-g CliPipes --from first --count 3", "a b c d"),
        ("-g CliPipes --count 1 --timeout 20", "a b c d"),
    ):
        read = gantry(side, f"consume -t CliPiped --output body {options}")
        assert read.exit_code == 0, read.text
        assert set(read.text.split()) <= set(bodies.split()), options
    progress = json.loads(gantry(side, "consumerProgress -g CliPipes --output json").text)
    assert progress["total"]["diff"] == 0
    mqadmin(admin, side, f"deleteTopic -t CliPiped -c {CLUSTER}")
    mqadmin(admin, side, f"deleteSubGroup -g CliPipes -c {CLUSTER} -r true")


def _without_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_numbers(each) for name, each in value.items()}
    is_number = isinstance(value, int | float) or re.fullmatch(r"[\d.]+", str(value))
    return "<n>" if is_number else value


def _shape(text: str) -> list[str]:
    """The lines without numbers; their count may also differ between two moments."""
    return [
        re.sub(r"<n>( <n>)*", "<n>", _without_figures(line)).strip()
        for line in text.splitlines()
        if line.strip()
    ]


def test_an_export_is_the_same(admin: MqAdmin, side: AdminSide) -> None:
    command, file = (
        f"exportMetadata -c {CLUSTER} -f {{folder}}",
        side.export_folder / "metadata.json",
    )
    exported = []
    for run in (lambda: mqadmin(admin, side, command), lambda: gantry(side, command)):
        run()
        value = json.loads(file.read_text())
        del value["exportTime"]
        exported.append(value)
    assert exported[0] == exported[1]


def test_json_has_the_values_of_the_table(side: AdminSide) -> None:
    shown = json.loads(gantry(side, f"topicStatus -t {TOPIC} --output json").text)
    assert [queue["qid"] for queue in shown["queues"]] == [0, 1, 2, 3]
    assert all(queue["maxOffset"] >= 5 for queue in shown["queues"])
