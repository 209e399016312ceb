"""Tests when sends that wait for disk or members are answered, and with what."""

from __future__ import annotations

from gantrymq.fakes.stores.store import message
from gantrymq.store.append.pending_put import PendingPut
from gantrymq.store.append.waiters import Waiters
from gantrymq.store.commitlog.flush import Released
from gantrymq.store.record.put_status import PutStatus
from gantrymq.store.settings import StoreSettings


def waiters(*, for_members: bool = True) -> Waiters:
    made = Waiters(StoreSettings())
    made.for_members = for_members
    return made


def put(number: int) -> PendingPut:
    return PendingPut(number, [message(number)], is_batch=False, waits=True)


def wait(on: Waiters, number: int, end: int, *, for_disk: bool = False) -> None:
    assert on.wait([put(number)], end, 0.0, for_disk=for_disk) == number


def told(by: Waiters) -> list[tuple[int, PutStatus]]:
    return [(answer.number, answer.status) for answer in by.take_answers()]


def test_send_that_waits_for_nothing_is_answered_once() -> None:
    made = waiters(for_members=False)
    assert not waiters().has_answers
    made.answer(put(1), PutStatus.PUT_OK)
    made.answer(put(2), PutStatus.SERVICE_NOT_AVAILABLE, "full")
    assert made.has_answers
    assert made.deadline() == float("-inf")
    stored, refused = made.take_answers()
    assert (stored.number, stored.status, stored.remark) == (1, PutStatus.PUT_OK, "")
    assert (refused.number, refused.status) == (2, PutStatus.SERVICE_NOT_AVAILABLE)
    assert refused.remark == "full"
    assert made.deadline() == float("inf")
    assert not made.take_answers()


def test_waiters_are_answered_in_order_up_to_the_replicated_position() -> None:
    made = waiters()
    for number in (1, 2, 3):
        wait(made, number, number * 100)
    made.replicated(250)
    assert told(made) == [(1, PutStatus.PUT_OK), (2, PutStatus.PUT_OK)]
    assert made.deadline() == 3.0


def test_sends_of_one_group_are_answered_together_in_order() -> None:
    made = waiters()
    group = made.wait([put(1), put(2), put(4)], 300, 0.0, for_disk=True)
    assert made.wait([put(3), put(5)], 500, 0.0, for_disk=True) != group
    made.replicated(500)
    assert told(made) == []
    made.flushed(Released(group, in_time=False))
    assert told(made) == [(number, PutStatus.FLUSH_DISK_TIMEOUT) for number in (1, 2, 4)]
    assert not made.is_empty
    made.dismiss()
    assert told(made) == [(number, PutStatus.FLUSH_SLAVE_TIMEOUT) for number in (3, 5)]


def test_replicated_position_never_decreases() -> None:
    made = waiters()
    made.replicated(250)
    made.replicated(100)
    wait(made, 1, 250)
    assert told(made) == [(1, PutStatus.PUT_OK)]


def test_answers_are_due_at_once() -> None:
    made = waiters()
    assert made.deadline() == float("inf")
    made.missing = "no slave"
    wait(made, 1, 100)
    assert made.deadline() == float("-inf")
    (answer,) = made.take_answers()
    assert (answer.status, answer.remark) == (PutStatus.SLAVE_NOT_AVAILABLE, "no slave")
    assert answer.positions == [0]


def test_send_waits_for_the_disk_when_a_member_is_missing() -> None:
    made = waiters()
    made.missing = "no slave"
    wait(made, 1, 100, for_disk=True)
    assert told(made) == []
    made.flushed(Released(1, in_time=True))
    assert told(made) == [(1, PutStatus.SLAVE_NOT_AVAILABLE)]


def test_waiting_send_is_answered_when_no_slave_is_left() -> None:
    made = waiters()
    wait(made, 1, 100)
    wait(made, 2, 200)
    wait(made, 3, 300, for_disk=True)
    made.replicated(100)
    made.miss("no slave")
    assert made.deadline() == float("-inf")
    assert told(made) == [(1, PutStatus.PUT_OK), (2, PutStatus.SLAVE_NOT_AVAILABLE)]
    assert made.deadline() == float("inf")
    made.flushed(Released(3, in_time=True))
    assert told(made) == [(3, PutStatus.SLAVE_NOT_AVAILABLE)]
    assert made.is_empty


def test_waiting_send_keeps_waiting_for_a_slave_that_may_return() -> None:
    made = waiters()
    wait(made, 1, 100)
    made.missing = "no slave now"
    assert told(made) == []
    made.missing = None
    made.replicated(100)
    assert told(made) == [(1, PutStatus.PUT_OK)]


def test_late_disk_is_reported_when_the_slave_was_in_time() -> None:
    made = waiters()
    wait(made, 1, 100, for_disk=True)
    made.replicated(100)
    made.flushed(Released(1, in_time=False))
    assert told(made) == [(1, PutStatus.FLUSH_DISK_TIMEOUT)]


def test_without_members_the_disk_is_enough() -> None:
    made = waiters(for_members=False)
    wait(made, 1, 100, for_disk=True)
    made.flushed(Released(1, in_time=True))
    assert told(made) == [(1, PutStatus.PUT_OK)]


def test_send_that_waits_for_slaves_is_answered_at_the_stop() -> None:
    made = waiters()
    wait(made, 1, 100)
    wait(made, 2, 200, for_disk=True)
    made.replicated(100)
    made.give_up()
    assert told(made) == [(1, PutStatus.PUT_OK), (2, PutStatus.FLUSH_SLAVE_TIMEOUT)]


def test_dismissed_send_is_answered_once_and_not_with_success() -> None:
    made = waiters()
    made.answer(put(1), PutStatus.PUT_OK)
    made.answer(put(2), PutStatus.FLUSH_DISK_TIMEOUT)
    wait(made, 3, 100, for_disk=True)
    made.dismiss([put(4)])
    assert told(made) == [
        (1, PutStatus.FLUSH_SLAVE_TIMEOUT),
        (2, PutStatus.FLUSH_DISK_TIMEOUT),
        (3, PutStatus.FLUSH_SLAVE_TIMEOUT),
        (4, PutStatus.SERVICE_NOT_AVAILABLE),
    ]
    made.flushed(Released(3, in_time=True))
    made.replicated(100)
    assert told(made) == []
