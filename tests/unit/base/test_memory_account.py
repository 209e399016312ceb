"""Tests the memory account: which share holds what, and when a limit is exceeded."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.memory_account import (
    LIMIT_MAX,
    LIMIT_MIN,
    Holder,
    Kind,
    MemoryAccount,
    Scope,
    limit_of,
)

MIB = 1 << 20


@dataclass(eq=False)
class Peer:
    peer: str = "10.0.0.1:1000"


def account(limit: int = 256 * MIB) -> MemoryAccount:
    return MemoryAccount(limit)


@pytest.mark.parametrize(
    ("memory", "limit"),
    [(128 * MIB, LIMIT_MIN), (1024 * MIB, 384 * MIB), (64 << 30, LIMIT_MAX)],
)
def test_the_limit_is_a_share_of_memory_within_bounds(memory: int, limit: int) -> None:
    assert limit_of(0, memory) == limit
    assert limit_of(64 * MIB, memory) == 64 * MIB
    assert limit_of(1, memory) == 32 * MIB


def test_held_memory_counts_by_kind_and_connection_until_released() -> None:
    made, one, other = account(), Peer(), Peer("10.0.0.2:1")
    made.add(one, Kind.BODIES, 100)
    made.add(one, Kind.CLIENTS, 10)
    made.add(other, Kind.BODIES, 1)
    assert (made.held, made.held_of(Kind.BODIES), made.held_for(one)) == (111, 101, 110)
    made.add(one, Kind.BODIES, -100)
    made.add(one, Kind.CLIENTS, -10)
    made.add(other, Kind.BODIES, -1)
    assert (made.held, made.held_for(one), made.largest()) == (0, 0, None)


def test_a_kind_has_a_share_and_the_refusal_names_the_setting() -> None:
    made = account()
    for number in range(8):
        made.add(Peer(f"10.0.0.{number}:1"), Kind.CLIENTS, 8 * MIB)
    overrun = made.overrun(Peer("10.0.1.1:1"), Kind.CLIENTS, 1)
    assert overrun is not None
    assert overrun.scope is Scope.ALL
    assert overrun.text == (
        "clients for all connections takes 67108864 bytes of memory, 67108864 are allowed by"
        " maxPeerMemory=268435456"
    )
    assert made.overrun(Peer("10.0.1.1:1"), Kind.BODIES, 1) is None


def test_all_kinds_together_stay_below_the_limit() -> None:
    made = account()
    made.add(Peer("10.0.0.1:1"), Kind.CONNECTIONS, 128 * MIB)
    made.add(Peer("10.0.0.2:1"), Kind.BODIES, 96 * MIB)
    assert made.overrun(Peer("10.0.0.3:1"), Kind.PULLS, 32 * MIB) is None
    overrun = made.overrun(Peer("10.0.0.3:1"), Kind.CLIENTS, 33 * MIB)
    assert overrun is not None
    assert overrun.scope is Scope.ALL


def test_an_address_and_a_connection_have_a_share_each() -> None:
    made = account()
    one, other = Peer("10.0.0.1:1"), Peer("10.0.0.1:2")
    made.add(one, Kind.CONNECTIONS, 60 * MIB)
    by_connection = made.overrun(one, Kind.BODIES, 5 * MIB)
    assert by_connection is not None
    assert by_connection.scope is Scope.CONNECTION
    made.add(other, Kind.BODIES, 60 * MIB)
    by_address = made.overrun(Peer("10.0.0.1:3"), Kind.BODIES, 9 * MIB)
    assert by_address is not None
    assert by_address.scope is Scope.ADDRESS
    assert made.overrun(Peer("10.0.0.2:3"), Kind.BODIES, 9 * MIB) is None


def test_tables_count_without_a_connection() -> None:
    made = account()
    made.set_table(Kind.TABLES, 64 * MIB)
    assert made.held == 64 * MIB
    assert made.overrun(None, Kind.TABLES, 1) is not None
    made.set_table(Kind.TABLES, 1)
    assert (made.held, made.largest()) == (1, None)
    assert made.overrun(None, Kind.TABLES, 1) is None


def test_tables_beyond_their_share_leave_the_share_of_connections() -> None:
    made = account()
    made.set_table(Kind.TABLES, 1 << 30)
    assert (made.held_of(Kind.TABLES), made.held) == (1 << 30, 64 * MIB)
    assert made.overrun(None, Kind.TABLES, 1) is not None
    assert made.overrun(Peer(), Kind.BODIES, 32 * MIB) is None
    made.set_table(Kind.TABLES, 5)
    assert made.held == 5


def test_the_largest_is_of_the_address_that_holds_the_most() -> None:
    made = account()
    alone = Peer("10.0.0.1:1")
    made.add(alone, Kind.CLIENTS, 5)
    many = [Peer(f"10.0.0.2:{port}") for port in range(3)]
    for number, each in enumerate(many):
        made.add(each, Kind.CLIENTS, 2 + number)
    assert made.largest() is many[2]
    assert made.largest("10.0.0.1") is alone
    made.write_off(many[2])
    made.write_off(many[2])
    assert made.largest() is alone
    assert made.held == 10


def test_release_by_a_written_off_connection_counts_once() -> None:
    made, one = account(), Peer()
    made.add(one, Kind.CLIENTS, 7)
    made.add(one, Kind.PULLS, 3)
    made.write_off(one)
    assert made.held == 0
    made.add(one, Kind.CLIENTS, -7)
    made.add(one, Kind.PULLS, -3)
    assert (made.held, made.held_for(one)) == (0, 0)
    made.add(one, Kind.PULLS, 4)
    assert made.held == 4


def test_a_small_limit_has_room_for_a_largest_frame() -> None:
    made = account(1)
    assert made.limit_of(Kind.CONNECTIONS) > 16 * MIB
    assert made.connection_limit > 16 * MIB
    assert made.is_over(Kind.BODIES) is False
    made.add(Peer(), Kind.BODIES, 2)
    assert made.is_over(Kind.CLIENTS)


steps = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(list(Kind)), st.integers(0, 100), st.booleans())
)


@given(steps)
def test_sums_agree_after_any_sequence_of_changes(
    changes: list[tuple[int, Kind, int, bool]],
) -> None:
    made = account()
    peers: list[Holder] = [Peer(f"10.0.0.{number // 2}:{number}") for number in range(6)]
    kept: dict[tuple[int, Kind], int] = {}
    for number, kind, size, is_back in changes:
        have = kept.get((number, kind), 0)
        more = -min(size, have) if is_back else size
        made.add(peers[number], kind, more)
        kept[number, kind] = have + more
    assert made.held == sum(kept.values()) == sum(map(made.held_of, Kind))
    for number, peer in enumerate(peers):
        own = sum(size for (whose, _), size in kept.items() if whose == number)
        assert made.held_for(peer) == own
