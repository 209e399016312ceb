"""Tests that transaction checks and decisions go on where they were when a broker restarts."""

from __future__ import annotations

from gantrymq.broker.core.transaction.transactions import copy_of, op_of
from gantrymq.fakes.brokers.transactions import (
    CHECK_ROUND_SECONDS,
    COMMIT,
    ROLLBACK,
    asked,
    opened_transactions,
)
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import decode


def test_checks_continue_after_a_restart() -> None:
    transactions = opened_transactions()
    open_half = transactions.prepare(b"open")
    done_half = transactions.prepare(b"done")
    transactions.end(done_half, COMMIT)
    transactions.broker.pass_time(3 * CHECK_ROUND_SECONDS)
    transactions = transactions.restarted()
    producer = transactions.connect()
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert len(asked(producer)) == 1
    (*_, copy) = transactions.halves()
    assert properties.parse(copy.properties)["TRANSACTION_CHECK_TIMES"] == "4"
    assert transactions.code(open_half, COMMIT) == ResponseCode.SUCCESS
    assert transactions.delivered() == [b"done", b"open"]


def test_open_half_messages_are_found_from_the_queues_without_offsets() -> None:
    transactions = opened_transactions()
    halves = [transactions.prepare(b"%d" % number) for number in range(4)]
    transactions.end(halves[0], COMMIT)
    transactions.end(halves[2], ROLLBACK)
    transactions.broker.pass_time(2 * CHECK_ROUND_SECONDS)
    transactions = transactions.restarted(keeps_files=False)
    producer = transactions.connect()
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert [transactions.code(copy, COMMIT, from_check=True) for copy in asked(producer)] == [
        ResponseCode.SUCCESS,
        ResponseCode.SUCCESS,
    ]
    transactions.broker.pass_time(3 * CHECK_ROUND_SECONDS)
    assert transactions.delivered() == [b"0", b"1", b"3"]
    assert len(asked(producer)) == 2


def test_after_a_restart_a_decision_about_the_first_half_still_finds_its_copy() -> None:
    transactions = opened_transactions()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(3 * CHECK_ROUND_SECONDS)
    transactions = transactions.restarted()
    assert transactions.code(half, COMMIT) == ResponseCode.SUCCESS
    assert transactions.ops() == [0, 1, 2, 3]


def test_after_a_restart_without_offsets_nothing_is_delivered_again() -> None:
    transactions = opened_transactions()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(3 * CHECK_ROUND_SECONDS)
    transactions.end(half, COMMIT)
    transactions = transactions.restarted(keeps_files=False)
    producer = transactions.connect()
    transactions.broker.pass_time(3 * CHECK_ROUND_SECONDS)
    assert not asked(producer)
    assert transactions.code(half, COMMIT) == ResponseCode.SYSTEM_ERROR
    assert transactions.delivered() == [b"pay"]


def test_a_crash_between_a_copy_and_its_op_leaves_one_transaction() -> None:
    transactions = opened_transactions()
    half = transactions.prepare(b"pay")
    (record,) = transactions.halves()
    copy = transactions.store(copy_of(record, checks=1))
    transactions = transactions.restarted()
    assert half.number in transactions.ops()
    producer = transactions.connect()
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert len(asked(producer)) == 1
    assert transactions.code(copy, COMMIT) == ResponseCode.SUCCESS
    assert transactions.code(half, COMMIT) == ResponseCode.SYSTEM_ERROR
    assert transactions.delivered() == [b"pay"]


def test_both_forms_of_ops_are_read() -> None:
    transactions = opened_transactions()
    for number in range(5):
        transactions.prepare(b"%d" % number)
    state = transactions.broker.state
    joined = op_of(state, 0)
    joined.body = b"0,3,"
    strange = op_of(state, 1)
    strange.body = b"x,-1,99999999999999999999999,6,,"  # there is no half 6 yet
    foreign = op_of(state, 2)
    foreign.properties = b"TAGS\x01z\x02"
    for op in (joined, op_of(state, 1), strange, foreign):
        transactions.store(op)
    transactions = transactions.restarted()
    producer = transactions.connect()
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert [decode(command.body).body for command in producer.told] == [b"2", b"4"]
    assert [transactions.code(copy, COMMIT, from_check=True) for copy in asked(producer)] == [
        ResponseCode.SUCCESS,
        ResponseCode.SUCCESS,
    ]


def test_decisions_wait_until_the_queues_have_been_read() -> None:
    transactions = opened_transactions()
    half = transactions.prepare(b"pay")
    transactions.end(half, ROLLBACK)
    transactions.broker.state.open_halves.forget()
    request = transactions.start(half, COMMIT)
    assert transactions.broker.is_held(request)
    transactions.broker.pass_time(5.1)
    answer = transactions.broker.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE
    transactions.broker.pass_time(CHECK_ROUND_SECONDS)
    assert transactions.code(half, COMMIT) == ResponseCode.SYSTEM_ERROR
