"""Tests that a registration of an older epoch never displaces a newer master."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.namesrv import SLAVE, Broker, Desk, FakeChannel
from gantrymq.wire.bodies.shared import DataVersion


def epoch(number: int) -> dict[str, str]:
    return {"gantryEpoch": str(number)}


class TestEpochs:
    """Masters of a replicated group share one address; the epoch says whose reign it is."""

    OLD = Broker(ext=epoch(5), channel=FakeChannel("10.0.0.1:1"))
    NEW = OLD.but(ext=epoch(6), channel=FakeChannel("10.0.0.2:1"))

    def test_the_old_channel_does_not_take_the_new_master_along(self) -> None:
        desk = Desk()
        desk.registered(self.OLD)
        desk.registered(self.NEW)
        desk.close(self.OLD.channel)
        desk.wait(60)
        assert desk.addresses("T") == {"a": {0: self.NEW.address}}

    @pytest.mark.parametrize("address", [OLD.address, "10.0.0.7:10911"])
    def test_a_lower_epoch_does_not_replace_a_higher_one(self, address: str) -> None:
        desk = Desk()
        desk.registered(self.NEW)
        answer = desk.register(self.OLD.newer(address=address, perm=4))
        assert answer.code == 1
        assert "epoch 6" in str(answer.remark)
        assert desk.perms("T") == {"a": 6}
        assert desk.addresses("T") == {"a": {0: self.NEW.address}}

    def test_no_epoch_is_the_lowest(self) -> None:
        desk = Desk()
        desk.registered(self.NEW)
        assert desk.register(self.NEW.but(ext={})).code == 1

    def test_a_refused_registration_is_no_sign_of_life(self) -> None:
        desk = Desk()
        desk.registered(self.NEW)
        for _ in range(4):
            desk.wait(30)
            assert desk.register(self.OLD).code == 1
        desk.wait(5)
        desk.assert_empty()

    def test_an_unregistration_of_an_older_epoch_is_ignored(self) -> None:
        desk = Desk()
        desk.registered(self.NEW)
        assert desk.unregister(self.OLD).code == 0
        assert desk.unregister(self.OLD.but(ext={})).code == 0
        assert desk.addresses("T") == {"a": {0: self.NEW.address}}
        desk.unregister(self.NEW)
        desk.assert_empty()

    def test_a_higher_epoch_counts_more_than_state(self) -> None:
        desk = Desk()
        desk.registered(self.OLD.but(version=DataVersion(1, 1, 9)))
        desk.registered(self.NEW.but(address="10.0.0.8:10911"))
        assert desk.addresses("T") == {"a": {0: "10.0.0.8:10911"}}

    @pytest.mark.parametrize("number", [2**63 - 1, 1_000_000_001, 1_000_007, -1])
    def test_an_incredible_epoch_does_not_lock_the_master_out(self, number: int) -> None:
        desk = Desk()
        desk.registered(self.NEW)
        answer = desk.register(self.NEW.but(ext=epoch(number)))
        assert (answer.code, "cannot be" in str(answer.remark)) == (1, True)
        desk.registered(self.NEW.but(ext=epoch(7)))

    def test_nor_at_a_name_server_that_knows_none(self) -> None:
        assert Desk().register(self.NEW.but(ext=epoch(1_000_000_001))).code == 1
        assert Desk().register(self.NEW.but(ext=epoch(1_000_000_000))).code == 0

    def test_a_slave_may_register_beside_a_higher_epoch(self) -> None:
        desk = Desk()
        desk.registered(self.NEW)
        desk.registered(SLAVE)
        assert desk.addresses("T") == {"a": {0: self.NEW.address, 1: SLAVE.address}}
