"""Queue locks: one owner at a time, by word and by time."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.broker.core.tables import locks as module
from gantrymq.broker.core.tables.locks import LOCK_SECONDS, Locks
from gantrymq.wire.bodies.shared import MessageQueue

QUEUES = [MessageQueue("T", "broker-a", number) for number in range(3)]
LATER = LOCK_SECONDS + 0.001


def test_free_queue_is_locked_by_the_first_client_that_asks() -> None:
    locks = Locks()
    assert locks.lock("G", QUEUES[:2], "c", 0.0) == QUEUES[:2]
    assert locks.lock("G", QUEUES, "d", 1.0) == QUEUES[2:]


def test_owner_renews_its_lock() -> None:
    locks = Locks()
    locks.lock("G", QUEUES, "c", 0.0)
    assert locks.lock("G", QUEUES, "c", 40.0) == QUEUES
    assert locks.lock("G", QUEUES, "d", LATER) == []


def test_lock_expires_without_its_owner() -> None:
    locks = Locks()
    locks.lock("G", QUEUES, "c", 0.0)
    assert locks.lock("G", QUEUES, "d", LOCK_SECONDS) == []
    assert locks.lock("G", QUEUES, "d", LATER) == QUEUES
    assert locks.lock("G", QUEUES, "c", LATER) == []


def test_groups_lock_the_same_queue_each_for_itself() -> None:
    locks = Locks()
    locks.lock("G", QUEUES, "c", 0.0)
    assert locks.lock("H", QUEUES, "d", 0.0) == QUEUES


def test_only_the_owner_unlocks() -> None:
    locks = Locks()
    locks.lock("G", QUEUES, "c", 0.0)
    locks.unlock("G", QUEUES, "d")
    assert locks.owner("G", QUEUES[0], 1.0) == "c"
    locks.unlock("G", QUEUES[:1], "c")
    assert locks.owner("G", QUEUES[0], 1.0) is None
    assert locks.lock("G", QUEUES, "d", 1.0) == QUEUES[:1]
    locks.unlock("H", QUEUES, "c")


def test_group_is_orderly_while_it_holds_a_lock() -> None:
    locks = Locks()
    assert not locks.is_orderly("G", 0.0)
    locks.lock("G", QUEUES, "c", 0.0)
    assert locks.is_orderly("G", LOCK_SECONDS)
    assert not locks.is_orderly("G", LATER)


def test_a_new_masters_word_of_what_was_given_back_is_forgotten_with_its_first_while() -> None:
    locks = Locks()
    locks.lead(0.0, 30.0)
    queue = MessageQueue("T", "broker-a", 7)
    known = sys.getrefcount(queue)
    locks.lock("G", [queue], "c", 30.0)
    locks.unlock("G", [queue], "c")
    assert sys.getrefcount(queue) == known


def test_full_table_makes_room_of_expired_locks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOCKS_MAX", 3)
    locks = Locks()
    locks.lock("G", QUEUES[:2], "c", 0.0)
    assert locks.lock("H", QUEUES, "d", 30.0) == QUEUES[:1]
    assert locks.lock("H", QUEUES, "d", 30.0 + LOCK_SECONDS + 1.0) == QUEUES
    assert locks.owner("G", QUEUES[0], 0.0) is None
    assert len(locks) == 3


MOVES = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from("GH"),
        st.lists(st.sampled_from(QUEUES), max_size=3, unique=True),
        st.sampled_from("cd"),
        st.sampled_from([0.0, 1.0, 30.0, 60.0, 61.0]),
    ),
    max_size=30,
)


@given(MOVES)
def test_owner_is_the_one_that_a_plain_table_says(
    moves: list[tuple[bool, str, list[MessageQueue], str, float]],
) -> None:
    locks = Locks()
    plain: dict[tuple[str, MessageQueue], tuple[str, float]] = {}
    now = 0.0
    for is_lock, group, queues, client, seconds in moves:
        now += seconds
        if is_lock:
            wanted = []
            for queue in queues:
                owner, asked_at = plain.get((group, queue), (client, now))
                if owner == client or asked_at + LOCK_SECONDS < now:
                    plain[group, queue] = (client, now)
                    wanted.append(queue)
            assert locks.lock(group, queues, client, now) == wanted
        else:
            locks.unlock(group, queues, client)
            for queue in queues:
                if plain.get((group, queue), ("", 0.0))[0] == client:
                    del plain[group, queue]
    assert len(locks) == len(plain)
