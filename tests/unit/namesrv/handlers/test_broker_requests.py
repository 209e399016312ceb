"""Data versions, heartbeats, notices of the lowest id."""

from __future__ import annotations

from gantrymq.fakes.brokers.namesrv import Broker, Desk, FakeChannel
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import DataVersion
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.headers.route import NotifyMinBrokerIdChangeRequest

A = Broker(channel=FakeChannel("a"))
SLAVE = A.but(id=1, address="10.0.0.2:10911", channel=FakeChannel("as"))
SECOND = A.but(id=2, address="10.0.0.3:10911", channel=FakeChannel("as2"))


class TestDataVersion:
    def ask(self, desk: Desk, version: DataVersion) -> tuple[dict[str, str] | None, bytes]:
        body = javajson.dumps_fastjson(version.to_json())
        answer = desk.ask(Code.QUERY_DATA_VERSION, A.identity(), body)
        assert answer.code == 0
        return answer.ext, answer.body

    def test_of_a_broker_known(self) -> None:
        desk = Desk()
        desk.registered(A)
        known = b'{"counter":1,"stateVersion":0,"timestamp":1000}'
        assert self.ask(desk, A.version) == ({"changed": "false"}, known)
        assert self.ask(desk, A.version.next(2000)) == ({"changed": "true"}, known)

    def test_of_one_unknown(self) -> None:
        assert self.ask(Desk(), A.version) == ({"changed": "true"}, b"")

    def test_without_a_body(self) -> None:
        desk = Desk()
        desk.registered(A)
        answer = desk.ask(Code.QUERY_DATA_VERSION, A.identity())
        assert (answer.code, answer.ext) == (0, {"changed": "true"})

    def test_nonsense_is_refused(self) -> None:
        desk = Desk()
        desk.registered(A)
        assert desk.ask(Code.QUERY_DATA_VERSION, A.identity(), b"nonsense").code == 1


class TestHeartbeat:
    def test_of_a_broker_unknown_is_answered_and_makes_none(self) -> None:
        desk = Desk()
        assert desk.ask(Code.BROKER_HEARTBEAT, A.identity()).code == 0
        desk.assert_empty()

    def test_without_a_sender_is_refused(self) -> None:
        assert Desk().ask(Code.BROKER_HEARTBEAT).code == 1


class TestNotices:
    ON = NameServerSettings(notify_min_broker_id_changed=True)

    def notices(self, desk: Desk) -> dict[str, NotifyMinBrokerIdChangeRequest]:
        told = {
            notice.address: NotifyMinBrokerIdChangeRequest.decode(notice.command.ext)
            for notice in desk.notices
        }
        assert all(notice.command.is_oneway for notice in desk.notices)
        desk.notices.clear()
        return told

    def test_when_the_lowest_leaves_the_others_are_notified(self) -> None:
        desk = Desk(self.ON)
        for broker in (A, SLAVE, SECOND):
            desk.registered(broker)
        desk.close(A.channel)
        header = NotifyMinBrokerIdChangeRequest(
            min_broker_id=1,
            broker_name="a",
            min_broker_addr=SLAVE.address,
            offline_broker_addr=A.address,
        )
        assert self.notices(desk) == {SLAVE.address: header, SECOND.address: header}

    def test_when_a_lower_one_joins_the_others_are_notified(self) -> None:
        desk = Desk(self.ON)
        for broker in (SLAVE, SECOND, A):
            desk.registered(broker)
        header = NotifyMinBrokerIdChangeRequest(
            min_broker_id=0,
            broker_name="a",
            min_broker_addr=A.address,
            ha_broker_addr=A.address + "2",
        )
        assert self.notices(desk) == {SLAVE.address: header, SECOND.address: header}

    def test_no_notice_when_another_leaves_or_the_name_ends(self) -> None:
        desk = Desk(self.ON)
        for broker in (A, SLAVE):
            desk.registered(broker)
        desk.unregister(SLAVE)
        desk.unregister(A)
        assert desk.notices == []

    def test_no_notice_when_it_is_off(self) -> None:
        desk = Desk()
        for broker in (SLAVE, A):
            desk.registered(broker)
        desk.unregister(A)
        assert desk.notices == []
