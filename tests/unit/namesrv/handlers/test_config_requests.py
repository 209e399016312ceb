"""KV configuration and settings: reading, changing, what happens when the disk refuses."""

from __future__ import annotations

import json

import pytest

from gantrymq.base.configuration.properties import parse_properties
from gantrymq.fakes.brokers.namesrv import Broker, Desk
from gantrymq.namesrv.core.limits import NameServerLimits
from gantrymq.namesrv.core.messages import File, Parked, Request, SaveKv, SaveSettings
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command

ITEM = {"namespace": "n", "key": "k"}


def value(desk: Desk) -> str | None:
    answer = desk.ask(Code.GET_KV_CONFIG, ITEM)
    return (answer.ext or {}).get("value")


def put(desk: Desk, key: str, value: str) -> bool:
    ext = {"namespace": "n", "key": key, "value": value}
    return desk.ask(Code.PUT_KV_CONFIG, ext).code == 0


class TestKv:
    def test_put_get_list_delete(self) -> None:
        desk = Desk()
        assert desk.ask(Code.PUT_KV_CONFIG, {**ITEM, "value": "v"}).code == 0
        assert value(desk) == "v"
        body = desk.ask(Code.GET_KVLIST_BY_NAMESPACE, {"namespace": "n"}).body
        assert body == b'{"table":{"k":"v"}}'
        assert desk.ask(Code.DELETE_KV_CONFIG, ITEM).code == 0
        assert value(desk) is None

    def test_each_change_is_in_the_file_before_its_answer(self) -> None:
        desk = Desk()
        desk.ask(Code.PUT_KV_CONFIG, {**ITEM, "value": "v"})
        desk.ask(Code.DELETE_KV_CONFIG, ITEM)
        assert desk.writes == [
            SaveKv(b'{"configTable":{"n":{"k":"v"}}}'),
            SaveKv(b'{"configTable":{"n":{}}}'),
        ]

    def test_a_missing_key_is_answered_in_javas_words(self) -> None:
        desk = Desk()
        for code, ext, remark in (
            (Code.GET_KV_CONFIG, ITEM, "No config item, Namespace: n Key: k"),
            (Code.GET_KV_CONFIG, None, "No config item, Namespace: null Key: null"),
            (Code.GET_KVLIST_BY_NAMESPACE, ITEM, "No config item, Namespace: n"),
        ):
            answer = desk.ask(code, ext)
            assert (answer.code, answer.remark) == (22, remark)

    def test_an_emptied_namespace_stays(self) -> None:
        desk = Desk(namespaces={"n": {"k": "v"}})
        desk.ask(Code.DELETE_KV_CONFIG, ITEM)
        answer = desk.ask(Code.GET_KVLIST_BY_NAMESPACE, {"namespace": "n"})
        assert (answer.code, answer.body) == (0, b'{"table":{}}')

    def test_deleting_nothing_writes_nothing(self) -> None:
        desk = Desk()
        for ext in (ITEM, None):
            assert desk.ask(Code.DELETE_KV_CONFIG, ext).code == 0
        assert desk.writes == []

    def test_without_namespace_or_key_nothing_is_put(self) -> None:
        answer = Desk().ask(Code.PUT_KV_CONFIG, {"namespace": "n", "value": "v"})
        assert (answer.code, answer.remark) == (1, "namespace or key is null")

    def test_a_value_that_is_missing_is_empty(self) -> None:
        desk = Desk()
        assert desk.ask(Code.PUT_KV_CONFIG, ITEM).code == 0
        assert value(desk) == ""

    def test_a_refusing_disk_refuses_the_change(self) -> None:
        desk = Desk(namespaces={"n": {"k": "old"}})
        desk.disk_failure = "No space left on device"
        answer = desk.ask(Code.PUT_KV_CONFIG, {**ITEM, "value": "new"})
        assert answer.code == 1
        assert "kvConfigPath could not be written: No space left on device" in str(answer.remark)
        assert value(desk) == "old"
        desk.disk_failure = None
        assert desk.ask(Code.PUT_KV_CONFIG, {**ITEM, "value": "new"}).code == 0
        assert value(desk) == "new"

    def test_a_change_that_waits_does_not_show(self) -> None:
        desk = Desk()
        command = Command(Code.PUT_KV_CONFIG, ext={**ITEM, "value": "v"})
        request = Request(command, desk.channel)
        assert desk.core.handle(request, desk.now, 0) == Parked()
        assert desk.core.state.namespaces == {}
        desk.core.take_effects()
        assert [asker for asker, _ in desk.core.written(File.KV, None)] == [request]
        assert value(desk) == "v"

    def test_oneway_changes_count_and_are_not_answered(self) -> None:
        desk = Desk()
        desk.tell(Code.PUT_KV_CONFIG, {**ITEM, "value": "v"})
        assert value(desk) == "v"

    def test_it_is_bounded(self) -> None:
        desk = Desk(limits=NameServerLimits(kv_bytes_max=60))
        assert put(desk, "k", "v" * 27)
        assert not put(desk, "l", "")
        assert put(desk, "k", "w" * 27)  # in place of what was there
        assert put(desk, "k", "")
        assert put(desk, "l", "v" * 19)

    def test_what_takes_six_bytes_in_the_file_counts_six(self) -> None:
        desk = Desk(limits=NameServerLimits(kv_bytes_max=60))
        assert not put(desk, "k", "\x01" * 5)
        assert put(desk, "k", "\x01" * 4)

    def test_changes_that_wait_for_the_disk_count(self) -> None:
        bound = 200
        desk = Desk(limits=NameServerLimits(kv_bytes_max=bound))
        for number in range(60):
            ext = {"namespace": "n", "key": f"k{number}", "value": "v" * 20}
            desk.core.handle(
                Request(Command(Code.PUT_KV_CONFIG, ext=ext), desk.channel), desk.now, 0
            )
            if number == 1:
                desk.core.take_effects()  # the first write is under way
        desk.core.written(File.KV, None)
        desk.settle()
        (last,) = desk.writes
        assert isinstance(last, SaveKv)
        assert bound - 40 < len(last.content) <= bound

    def test_room_that_a_waiting_delete_frees_is_not_used_twice(self) -> None:
        desk = Desk(namespaces={"n": {"k": "v" * 27}}, limits=NameServerLimits(kv_bytes_max=60))
        command = Command(Code.DELETE_KV_CONFIG, ext=ITEM)
        desk.core.handle(Request(command, desk.channel), desk.now, 0)
        desk.core.take_effects()  # the delete is being written, the put waits behind it
        command = Command(Code.PUT_KV_CONFIG, ext={**ITEM, "value": "v" * 27})
        outcome = desk.core.handle(Request(command, desk.channel), desk.now, 0)
        assert outcome != Parked()
        desk.core.written(File.KV, None)
        assert put(desk, "k", "v" * 27)

    def test_an_item_is_bounded(self) -> None:
        desk = Desk(limits=NameServerLimits(kv_item_bytes_max=16))
        assert put(desk, "k", "vv")
        assert not put(desk, "k", "vvv")

    def test_the_largest_item_fits_into_a_header_however_it_is_escaped(self) -> None:
        for value in ("\x01" * 10_000, "é" * 32_000, "😀" * 16_000, "v" * 65_000):
            ext = {"namespace": "n", "key": "k", "value": value}
            assert put(Desk(), "k", value)
            assert len(json.dumps(ext)) < 256 * 1024 - 1000

    def test_a_stuck_disk_is_not_queued_for_without_end(self) -> None:
        desk = Desk(limits=NameServerLimits(changes_waiting_max=1))
        command = Command(Code.PUT_KV_CONFIG, ext={**ITEM, "value": "v"})
        desk.core.handle(Request(command, desk.channel), desk.now, 0)
        command = Command(Code.DELETE_KV_CONFIG, ext=ITEM)
        outcome = desk.core.handle(Request(command, desk.channel), desk.now, 0)
        assert getattr(outcome, "command").code == 2  # noqa: B009 - a Reply, whatever its type

    def test_no_log_line_has_a_value(self) -> None:
        desk = Desk()
        put(desk, "password", "7c9e1f")
        desk.wait(601)
        desk.ask(Code.DELETE_KV_CONFIG, {"namespace": "n", "key": "password"})
        told = [line for line in desk.lines if "password" in line]
        assert len(told) >= 3
        assert not any("7c9e1f" in line for line in told)

    def test_it_is_logged_after_a_minute_and_then_every_ten(self) -> None:
        desk = Desk(namespaces={"n": {"k": "v"}})
        line = "configTable NS: n Key: k Value: (1 characters)"
        desk.wait(59)
        assert line not in desk.lines
        desk.wait(1 + 600 + 600)
        assert desk.lines.count(line) == 3


class TestSettings:
    def shown(self, desk: Desk) -> dict[str, str]:
        return parse_properties(desk.ask(Code.GET_NAMESRV_CONFIG).body.decode())

    def update(self, desk: Desk, text: str) -> tuple[int, str]:
        answer = desk.ask(Code.UPDATE_NAMESRV_CONFIG, None, text.encode())
        return answer.code, answer.remark or ""

    def test_a_change_counts_at_once_and_is_kept(self) -> None:
        desk = Desk(namespaces={"ORDER_TOPIC_CONFIG": {"T": "a:4"}})
        desk.registered(Broker())
        assert self.update(desk, "orderMessageEnable = true \n") == (0, "")
        assert self.shown(desk)["orderMessageEnable"] == "true"
        route = desk.route("T")
        assert route is not None
        assert route.order_topic_conf == "a:4"
        assert desk.writes == [SaveSettings({"orderMessageEnable": "true"})]

    def test_earlier_changes_are_kept(self) -> None:
        desk = Desk()
        self.update(desk, "waitSecondsForService=1")
        self.update(desk, "clusterTest=true")
        changes = {"waitSecondsForService": "1", "clusterTest": "true"}
        assert desk.writes[-1] == SaveSettings(changes)

    @pytest.mark.parametrize(
        "text",
        [
            "bindAddress=1.1.1.1",
            "listenPort=9999",
            "listeners=a:127.0.0.1:1",
            "metricsPort=1",
            "serverSocketBacklog=1",
            "serverChannelMaxIdleTimeSeconds=1",
        ],
    )
    def test_a_setting_read_at_the_start_is_refused(self, text: str) -> None:
        desk = Desk()
        before = self.shown(desk)
        code, remark = self.update(desk, f"enableTopicList=false\n{text}")
        assert code == 1
        assert "is read when the name server starts: change it in its configuration file" in remark
        assert (self.shown(desk), desk.writes) == (before, [])

    def test_an_unknown_key_is_refused_with_a_hint(self) -> None:
        desk = Desk()
        code, remark = self.update(desk, "enableTopicLst=false")
        assert code == 1
        assert remark == (
            "nothing was changed: enableTopicLst is not a setting known here; did you mean"
            " enableTopicList?"
        )

    def test_a_long_key_or_value_is_not_repeated_whole(self) -> None:
        desk = Desk()
        for text in ("k" * 5000 + "=1", "waitSecondsForService=" + "9" * 5000):
            assert len(self.update(desk, text)[1]) < 500

    def test_keys_of_javas_threads_are_taken_as_java_takes_them(self) -> None:
        desk = Desk()
        assert self.update(desk, "serverWorkerThreads=16\nproductEnvName=x") == (0, "")
        assert self.shown(desk)["productEnvName"] == "x"

    @pytest.mark.parametrize(
        "key",
        [
            "configBlackList",
            "configStorePath",
            "kvConfigPath",
            "rocketmqHome",
            "clusterTest",
            "aclEnable",
            "aclFile",
            "brokerConfigPath",
        ],
    )
    def test_black_listed_keys_change_nothing(self, key: str) -> None:
        desk = Desk(NameServerSettings(config_black_list=" clusterTest ;"))
        before = self.shown(desk)
        text = f"waitSecondsForService=1\n{key}=true\n"
        assert self.update(desk, text) == (16, "Can not update config in black list.")
        assert (self.shown(desk), desk.writes) == (before, [])

    @pytest.mark.parametrize(
        "text",
        [
            "waitSecondsForService=abc",
            "clusterTest=perhaps",
            "a=\\uXX",
            "scanNotActiveBrokerInterval=0",
        ],
    )
    def test_an_invalid_value_refuses_the_whole_request(self, text: str) -> None:
        desk = Desk()
        code, remark = self.update(desk, f"enableTopicList=false\n{text}\n")
        assert code == 1
        assert remark.startswith("nothing was changed: ")
        assert self.shown(desk)["enableTopicList"] == "true"

    @pytest.mark.parametrize("text", ["", "# nothing"])
    def test_an_empty_request_changes_nothing(self, text: str) -> None:
        desk = Desk()
        assert self.update(desk, text) == (0, "")
        assert desk.writes == []

    def test_a_refusing_disk_refuses_the_change(self) -> None:
        desk = Desk()
        desk.disk_failure = "Read-only file system"
        code, remark = self.update(desk, "clusterTest=true")
        assert code == 1
        assert "configStorePath could not be written: Read-only file system" in remark
        assert self.shown(desk)["clusterTest"] == "false"

    def test_a_flood_of_properties_is_refused(self) -> None:
        desk = Desk(limits=NameServerLimits(settings_bytes_max=10))
        assert self.update(desk, "clusterTest=true")[0] == 1
