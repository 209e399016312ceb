"""Tests GET_BROKER_CONFIG and UPDATE_BROKER_CONFIG."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.base.configuration.properties import parse_properties
from gantrymq.base.configuration.settings import Source
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.messages import Answer, AnsweredLater, Effect, File, Request, SaveFile
from gantrymq.broker.core.processor.admin.config_requests import BODY_BYTES_MAX
from gantrymq.fakes.brokers.broker import START_MS, STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.stores.store import message
from gantrymq.store.record.put_status import Refused
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

EXPORTED = [
    "autoCreateSubscriptionGroup",
    "autoCreateTopicEnable",
    "brokerClusterName",
    "brokerId",
    "brokerName",
    "brokerRole",
    "fileReservedTime",
    "filterServerNums",
    "flushDiskType",
    "maxMessageSize",
    "messageDelayLevel",
    "msgTraceTopicName",
    "slaveReadEnable",
    "traceOn",
    "traceTopicEnable",
    "useTLS",
]


def update(broker: OpenedBroker, text: str) -> Command:
    return broker.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode())


def put(broker: OpenedBroker, number: int) -> None:
    broker.state.task_runner.start(tasks.put(message(number)), lambda _: None, failed)
    broker.settle()


def failed(error: Exception) -> None:
    raise error


def read(broker: OpenedBroker) -> dict[str, str]:
    return parse_properties(broker.ask(RequestCode.GET_BROKER_CONFIG).body.decode())


def test_all_settings_are_shown_with_their_version() -> None:
    broker = OpenedBroker()
    answer = broker.ask(RequestCode.GET_BROKER_CONFIG)
    assert answer.ext == {"version": f'{{"counter":0,"stateVersion":0,"timestamp":{START_MS}}}'}
    texts = read(broker)
    assert texts["brokerClusterName"] == "DefaultCluster"
    assert texts["flushDiskType"] == "ASYNC_FLUSH"
    assert texts["brokerIP1"] == ""


@pytest.mark.parametrize("key", EXPORTED)
def test_mqadmins_export_finds_its_keys(key: str) -> None:
    """That of 4.9 breaks where one is missing."""
    assert key in read(OpenedBroker())


def test_a_change_is_kept_and_counts_at_once() -> None:
    broker = OpenedBroker()
    answer = update(broker, "flushDelayOffsetInterval=20000\nmaxMsgsNumBatch=3\n")
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
    assert broker.saved[File.SETTINGS] == b"flushDelayOffsetInterval=20000\nmaxMsgsNumBatch=3\n"
    assert broker.state.settings.flush_delay_offset_interval == 20_000
    assert broker.state.store.settings.max_msgs_num_batch == 3
    assert read(broker)["flushDelayOffsetInterval"] == "20000"
    answer = broker.ask(RequestCode.GET_BROKER_CONFIG)
    assert answer.ext is not None
    assert '"counter":1' in answer.ext["version"]


def test_setting_that_is_switched_on_creates_its_topic() -> None:
    broker = OpenedBroker()
    assert broker.state.topics.find("TBW102") is None
    update(broker, "autoCreateTopicEnable=true")
    assert broker.state.topics.find("TBW102") is not None


def test_a_longer_message_is_taken_at_once() -> None:
    broker = OpenedBroker()
    long = message(1)
    long.body = b"x" * 200
    update(broker, "maxMessageSize=100")
    assert isinstance(broker.state.store.put(long), Refused)
    update(broker, "maxMessageSize=200")
    assert not isinstance(broker.state.store.put(long), Refused)


def test_retention_follows_changed_settings() -> None:
    broker = OpenedBroker(store_settings=replace(STORE_SETTINGS, mapped_file_size_commit_log=4096))
    for number in range(40):
        put(broker, number)
    broker.pass_time(120)
    assert broker.state.store.log.start == 0
    update(broker, "deleteWhen=12\nfileReservedTime=0\n")  # the harness has it noon
    broker.pass_time(120)
    assert broker.state.store.log.start > 0


def test_sends_are_refused_by_the_ratio_that_was_changed() -> None:
    broker = OpenedBroker()
    put(broker, 1)
    update(broker, "diskSpaceWarningLevelRatio=1")
    broker.pass_time(1)
    refused = broker.state.store.put(message(1))
    assert isinstance(refused, Refused)
    assert "diskSpaceWarningLevelRatio=1 %" in refused.text


def test_hours_that_are_none_are_refused() -> None:
    broker = OpenedBroker()
    answer = update(broker, "deleteWhen=25")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "deleteWhen=25: must be hours from 00 to 23" in (answer.remark or "")
    assert File.SETTINGS not in broker.saved


def test_empty_change_succeeds_and_writes_nothing() -> None:
    broker = OpenedBroker()
    assert update(broker, "# nothing\n").code == ResponseCode.SUCCESS
    assert File.SETTINGS not in broker.saved


def test_the_name_servers_hear_of_another_permission() -> None:
    broker = OpenedBroker()
    before = len(broker.registered)
    update(broker, "regionId=r")
    assert len(broker.registered) == before
    update(broker, "brokerPermission=4")
    assert len(broker.registered) == before + 1


def test_change_of_a_fixed_setting_is_refused() -> None:
    broker = OpenedBroker()
    answer = update(broker, "configBlackList=")
    assert answer.code == ResponseCode.NO_PERMISSION
    assert answer.remark == "Can not update config in black list."
    answer = update(broker, "brokerName=other")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "brokerName is read when the broker starts" in (answer.remark or "")
    assert File.SETTINGS not in broker.saved


def test_text_that_is_not_properties_is_refused() -> None:
    broker = OpenedBroker()
    assert (update(broker, "regionId=\\u12").remark or "").startswith("string2Properties error")
    answer = update(broker, "regionId=" + "x" * BODY_BYTES_MAX)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert broker.state.settings.region_id == "DefaultRegion"


def test_change_of_a_setting_from_the_environment_logs_a_warning() -> None:
    broker = OpenedBroker()
    broker.state.configuration.sources = {"traceOn": Source.ENVIRONMENT, "regionId": Source.FILE}
    update(broker, "traceOn=false\nregionId=r")
    warnings = [line.text for line in broker.lines if "until the next start" in line.text]
    assert len(warnings) == 1
    assert "traceOn" in warnings[0]


def test_a_change_that_cannot_be_written_is_refused_and_does_not_count() -> None:
    broker = OpenedBroker()
    core = broker.broker
    command = Command(RequestCode.UPDATE_BROKER_CONFIG, body=b"regionId=r")
    outcome = core.handle(Request(command, broker.channel), 0.0, START_MS)
    assert isinstance(outcome, AnsweredLater)
    core.turn(0.0, START_MS)
    assert _saves(core.take_effects()) == [SaveFile(File.SETTINGS, b"regionId=r\n")]
    assert broker.state.settings.region_id == "DefaultRegion"

    core.written(File.SETTINGS, "no space left", 0.0, START_MS)
    answers = [each.command for each in core.take_effects() if isinstance(each, Answer)]
    assert [answer.code for answer in answers] == [ResponseCode.SYSTEM_ERROR]
    assert "no space left" in (answers[0].remark or "")
    assert broker.state.settings.region_id == "DefaultRegion"
    # Half of it may be in the file: it is written once more, as it was.
    core.turn(60.0, START_MS)
    assert _saves(core.take_effects()) == [SaveFile(File.SETTINGS, b"")]


def _saves(effects: list[Effect]) -> list[SaveFile]:
    return [each for each in effects if isinstance(each, SaveFile) and each.file is File.SETTINGS]
