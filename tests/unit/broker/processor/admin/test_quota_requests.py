"""Quotas by request, and the file that keeps them."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.replication.metadata_replication import QUOTAS
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.quotas import REQUESTS, quota
from gantrymq.wire import javajson
from gantrymq.wire.bodies.quotas import UNLIMITED, QuotaKind, QuotaTableBody
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

SET, DELETE = RequestCode.GANTRY_SET_QUOTA, RequestCode.GANTRY_DELETE_QUOTA
USER = QuotaKind.USER


def set_quota(broker: OpenedBroker, **fields: str) -> Command:
    return broker.ask(SET, ext={"kind": "user", "name": "billing", **fields})


def listed(broker: OpenedBroker) -> QuotaTableBody:
    answer = broker.ask(RequestCode.GANTRY_LIST_QUOTAS)
    return QuotaTableBody.from_json(javajson.loads(answer.body))


def test_set_quota_is_listed_and_saved_before_the_answer() -> None:
    broker = OpenedBroker()
    assert set_quota(broker, requestsPerSecond="10").code == ResponseCode.SUCCESS
    expected = [quota(USER, "billing", {REQUESTS: 10})]
    assert listed(broker).quotas == expected
    assert b'"requestsPerSecond":10' in broker.saved[File.QUOTAS]


def test_limits_that_a_request_leaves_out_stay() -> None:
    broker = OpenedBroker()
    set_quota(broker, requestsPerSecond="10")
    set_quota(broker, produceBytesPerSecond="5000")
    set_quota(broker, requestsPerSecond="0", consumeBytesPerSecond="-1")
    (found,) = listed(broker).quotas
    assert {limit.value: amount for limit, amount in found.limits.items()} == {
        "produceBytesPerSecond": 5000,
        "consumeBytesPerSecond": UNLIMITED,
    }


@pytest.mark.parametrize(
    "fields",
    [{"kind": "moon"}, {"name": "a b"}, {}, {"storageBytes": "5"}, {"requestsPerSecond": "-2"}],
)
def test_invalid_quota_is_refused_and_changes_nothing(fields: dict[str, str]) -> None:
    broker = OpenedBroker()
    answer = set_quota(broker, **fields)
    assert answer.code == ResponseCode.INVALID_PARAMETER
    assert (answer.remark or "").startswith("nothing was changed: ")
    assert not broker.state.quotas.is_on


def test_quota_is_deleted() -> None:
    broker = OpenedBroker()
    set_quota(broker, requestsPerSecond="10")
    ext = {"kind": "user", "name": "billing"}
    assert broker.ask(DELETE, ext=ext).code == ResponseCode.SUCCESS
    assert broker.ask(DELETE, ext=ext).code == ResponseCode.QUERY_NOT_FOUND
    assert not broker.state.quotas.is_on


def test_quotas_survive_a_restart_and_reach_the_next_master() -> None:
    broker, follower = OpenedBroker(), OpenedBroker()
    set_quota(broker, requestsPerSecond="10")
    again = OpenedBroker(files=broker.saved)
    assert listed(again).quotas == listed(broker).quotas
    table = broker.broker.tables()[QUOTAS]
    follower.broker.take_table(QUOTAS, table, follower.now, follower.wall_ms)
    assert listed(follower).quotas == listed(broker).quotas


def test_file_edited_by_hand_counts_and_a_bad_one_changes_nothing() -> None:
    broker = OpenedBroker()
    edited = b'{"quotas":[{"kind":"user","name":"*","produceBytesPerSecond":"2MiB"}]}'
    broker.broker.quotas_edited(edited)
    (found,) = listed(broker).quotas
    assert list(found.limits.values()) == [2 << 20]
    with pytest.raises(RemoteError, match=r"quotas\.json"):
        broker.broker.quotas_edited(b'{"quotas":[{"kind":"moon","name":"*"}]}')
    assert list(listed(broker).quotas) == [found]
    broker.broker.quotas_edited(b"")
    assert not broker.state.quotas.is_on
