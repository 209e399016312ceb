"""Tests that the name server refuses registrations that exceed a limit or are invalid."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.namesrv import MASTER, SLAVE, Broker, Desk
from gantrymq.namesrv.core.limits import NameServerLimits
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.wire.codes import RequestCode as Code


class TestBounds:
    @pytest.mark.parametrize(
        ("limits", "second"),
        [
            (NameServerLimits(brokers_max=1), SLAVE),
            (NameServerLimits(topics_max=3), SLAVE.but(name="b", topics=("V", "W"))),
            (NameServerLimits(placed_queues_max=2), SLAVE.but(name="b")),
            (NameServerLimits(), SLAVE.but(topics=("V", ""))),
            (NameServerLimits(name_characters_max=20), SLAVE.but(name="b" * 21)),
            (NameServerLimits(name_characters_max=20), SLAVE.but(topics=("V" * 21, "W"))),
            (NameServerLimits(filter_servers_max=1), SLAVE.but(filters=("f:1", "f:2"))),
            (
                NameServerLimits(listeners_max=1),
                SLAVE.but(ext={"gantryListeners": "x=h:1;y=h:2"}),
            ),
        ],
    )
    def test_beyond_one_nothing_changes(self, limits: NameServerLimits, second: Broker) -> None:
        desk = Desk(limits=limits)
        desk.registered(MASTER)
        answer = desk.register(second)
        assert answer.code == 1
        assert str(answer.remark).startswith("register broker failed: ")
        assert len(desk.core.state.routes.members) == 1
        assert desk.topics(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) == {"T", "U"}

    def test_topics_stay_where_taking_them_off_would_exceed_one(self) -> None:
        desk = Desk(
            NameServerSettings(delete_topic_with_broker_registration=True),
            limits=NameServerLimits(placed_queues_max=3),
        )
        desk.registered(MASTER.but(topics=("T", "U", "V")))
        other = MASTER.but(name="b", address="10.0.0.3:10911", topics=("T", "U", "V"))
        desk.registered(other)
        desk.registered(other.newer(topics=("T", "U")))
        assert desk.perms("V") == {"a": 6}
        desk.registered(MASTER.newer(topics=("T", "V")))
        assert desk.perms("U") == {"a": 6, "b": 6}
        assert any("topics not deleted" in line for line in desk.lines)

    def test_a_broker_that_is_known_goes_on_at_the_bound(self) -> None:
        desk = Desk(limits=NameServerLimits(brokers_max=1, topics_max=2, placed_queues_max=3))
        desk.registered(MASTER)
        desk.registered(MASTER.newer(perm=4))
        assert desk.perms("T") == {"a": 4}

    @pytest.mark.parametrize("field", ["brokerName", "brokerAddr", "clusterName", "brokerId"])
    def test_a_registration_must_name_its_broker(self, field: str) -> None:
        desk = Desk()
        header = {key: value for key, value in MASTER.header().items() if key != field}
        answer = desk.ask(Code.REGISTER_BROKER, header, MASTER.body().encode())
        assert answer.code == 1
        assert field in str(answer.remark)
        desk.assert_empty()

    @pytest.mark.parametrize("listeners", [
        "external", "=h:1", "external=", "external=nowhere", "external=:", "external=h:",
        "external=:1", "external=h:0", "external=h:65536", "external=a b:1", " =h:1",
    ])  # fmt: skip
    def test_invalid_listeners_are_refused(self, listeners: str) -> None:
        desk = Desk()
        answer = desk.register(MASTER.but(ext={"gantryListeners": listeners}))
        assert (answer.code, "gantryListeners" in str(answer.remark)) == (1, True)
        desk.assert_empty()

    @pytest.mark.parametrize("body", [b"nonsense", b"\x78nonsense", b"[]"])
    def test_a_body_that_is_none_is_refused(self, body: bytes) -> None:
        desk = Desk()
        answer = desk.ask(Code.REGISTER_BROKER, MASTER.header(), body)
        assert answer.code == 1
        assert "Failed to decode RegisterBrokerBody, " in str(answer.remark)
        assert desk.core.counters.registrations_refused == 1
        desk.assert_empty()

    def test_a_wrong_checksum_is_refused(self) -> None:
        desk = Desk()
        header = {**MASTER.header(), "bodyCrc32": "12345"}
        answer = desk.ask(Code.REGISTER_BROKER, header, MASTER.body().encode())
        assert (answer.code, answer.remark) == (1, "crc32 not match")
        desk.assert_empty()

    def test_a_large_registration_does_not_flood_the_log(self) -> None:
        desk = Desk()
        desk.registered(MASTER.but(topics=[f"T{n}" for n in range(1000)]))
        assert len(desk.lines) < 100
        assert "registered 1000 topics of a in all" in desk.lines
