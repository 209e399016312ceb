"""Tests the JSON of quotas as files and administrators write it."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.wire.bodies import quotas
from gantrymq.wire.bodies.quotas import Quota, QuotaKind, QuotaLimit, QuotaTableBody, QuotaUse
from gantrymq.wire.jsonvalue import Json, JsonObject


def test_written_table_is_read_back() -> None:
    table = QuotaTableBody(
        [
            Quota(QuotaKind.USER, "*", {QuotaLimit.REQUESTS: 2000}),
            Quota(QuotaKind.TOPIC, "Orders", {QuotaLimit.STORAGE_BYTES: 1 << 40}),
            Quota(QuotaKind.ADDRESS, "10.2.*", {QuotaLimit.PRODUCE_BYTES: quotas.UNLIMITED}),
        ],
        [QuotaUse(QuotaKind.USER, "billing", QuotaLimit.REQUESTS, 2000, 1873, 12)],
    )
    assert QuotaTableBody.from_json(table.to_json()) == table


def test_bytes_may_have_a_unit() -> None:
    read = Quota.from_json({"kind": "topic", "name": "T", "storageBytes": "50GiB"})
    assert read.limits == {QuotaLimit.STORAGE_BYTES: 50 << 30}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"kind": "planet"}, "one of user, topic, group, address"),
        ({"name": ""}, "cannot be the name"),
        ({"name": "a b"}, "cannot be the name"),
        ({"name": "a*b"}, "a * at its end alone"),
        ({"name": "x" * 256}, "1 to 255 characters"),
        ({"requestsPerSecond": 0}, "at least 1"),
        ({"requestsPerSecond": "10MiB"}, "where a whole number"),
        ({"produceBytesPerSecond": "x"}, "where a whole number"),
        ({"storageBytes": 5}, "of kind user cannot have storageBytes"),
        ({"requestPerSecond": 5}, "has the property 'requestPerSecond'"),
        ({"requestsPerSecond": None}, "has no limit"),
    ],
)
def test_invalid_quota_is_refused_with_the_reason(changed: JsonObject, told: str) -> None:
    bean: JsonObject = {"kind": "user", "name": "billing", "requestsPerSecond": 10, **changed}
    with pytest.raises(RemoteError, match=told.replace("*", r"\*")):
        Quota.from_json({**bean})


def test_table_with_a_name_twice_is_refused() -> None:
    one: JsonObject = {"kind": "user", "name": "billing", "requestsPerSecond": 10}
    with pytest.raises(RemoteError, match="two quotas of user billing; make them one"):
        QuotaTableBody.from_json({"quotas": [{**one}, {**one}]})


def test_table_is_bounded() -> None:
    many: list[Json] = [
        {"kind": "user", "name": f"u{number}", "requestsPerSecond": 10}
        for number in range(quotas.QUOTAS_MAX + 1)
    ]
    with pytest.raises(RemoteError, match="use prefixes"):
        QuotaTableBody.from_json({"quotas": many})
