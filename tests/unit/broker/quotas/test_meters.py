"""The table of meters: made when a name is seen, bounded, and not to be reset by its clients."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.quotas.meters import SWEEP_SECONDS, Meters
from gantrymq.broker.core.quotas.rules import QuotaRules
from gantrymq.fakes.brokers.quotas import PRODUCE, REQUESTS, quota
from gantrymq.wire.bodies.quotas import QuotaKind

USER, TOPIC = QuotaKind.USER, QuotaKind.TOPIC


def meters(limit: int = 10) -> Meters:
    made = Meters(limit)
    made.change(QuotaRules([quota(USER, "*", {REQUESTS: 10})]), 0.0)
    return made


def test_each_name_of_a_default_quota_has_a_bucket_of_its_own() -> None:
    table = meters()
    one, other = table.find(USER, "a", 0.0), table.find(USER, "b", 0.0)
    assert one is not None
    assert one.requests is not None
    assert other is not None
    assert other.requests is not None
    one.requests.charge(30, 0.0)
    assert one.requests.delay(0.0) == pytest.approx(2.0)
    assert other.requests.delay(0.0) == 0.0
    assert table.find(USER, "a", 0.0) is one


def test_name_without_a_limit_has_no_meter() -> None:
    assert meters().find(TOPIC, "a", 0.0) is None


def test_busy_names_beyond_the_bound_share_a_meter() -> None:
    table = meters(limit=2)
    for name in ("a", "b"):
        meter = table.find(USER, name, 0.0)
        assert meter is not None
        assert meter.requests is not None
        meter.requests.charge(100, 0.0)
    shared = table.find(USER, "c", 0.0)
    assert shared is table.find(USER, "d", 0.0)
    assert shared is not None
    assert shared.name == "*"


def test_idle_meters_make_room_and_busy_ones_stay() -> None:
    table = meters(limit=2)
    table.find(USER, "idle", 0.0)
    busy = table.find(USER, "busy", 0.0)
    assert busy is not None
    assert busy.requests is not None
    busy.requests.charge(1000, 0.0)
    new = table.find(USER, "new", SWEEP_SECONDS)
    assert new is not None
    assert new.name == "new"
    assert table.find(USER, "busy", SWEEP_SECONDS) is busy


def test_change_of_a_quota_does_not_forgive_debt() -> None:
    table = meters()
    meter = table.find(USER, "a", 0.0)
    assert meter is not None
    assert meter.requests is not None
    meter.requests.charge(60, 0.0)
    table.change(QuotaRules([quota(USER, "*", {REQUESTS: 20, PRODUCE: 5})]), 0.0)
    assert table.find(USER, "a", 0.0) is meter
    assert meter.requests.delay(0.0) == pytest.approx(5.0)
    assert meter.produce is not None


def test_meter_whose_quota_is_deleted_goes() -> None:
    table = meters()
    table.find(USER, "a", 0.0)
    table.change(QuotaRules(), 0.0)
    assert table.find(USER, "a", 0.0) is None
    assert list(table.all()) == []
