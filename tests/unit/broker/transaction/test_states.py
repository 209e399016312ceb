"""A transaction does what its table of transitions says, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import pytest

from gantrymq.broker.core.transaction.states import TRANSACTION, TransactionState
from gantrymq.broker.core.transaction.transactions import GIVEN_UP_TOPIC
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.transactions import COMMIT, ROLLBACK, Half, Transactions
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.transaction import ResumeCheckHalfMessageRequest
from gantrymq.wire.message import offset_id

ROUND_SECONDS: Final = 30.0


class Case:
    """One transaction of a producer that is connected."""

    def __init__(self) -> None:
        self.transactions = Transactions(OpenedBroker())
        self.broker = self.transactions.broker
        self.broker.settle()
        self.transactions.connect()
        self.transactions.prepare(b"pay")

    def state(self) -> TransactionState:
        half = self.transactions.halves()[-1]
        halves = self.broker.state.open_halves
        if halves.is_open(half):
            return TransactionState.COPIED if halves.is_copied(half) else TransactionState.OPEN
        if self.transactions.delivered():
            return TransactionState.COMMITTED
        if self.transactions.given_up():
            return TransactionState.GIVEN_UP
        return TransactionState.ROLLED_BACK

    def decide(self, decision: int) -> None:
        half = self.transactions.halves()[-1]
        place = Half(half.queue_offset, half.physical_offset)
        self.transactions.code(place, decision, from_check=True)

    def check(self) -> None:
        self.broker.pass_time(ROUND_SECONDS)

    def check_last(self) -> None:
        state = self.broker.state
        state.settings = replace(state.settings, transaction_check_max=0)
        self.check()

    def resume(self) -> None:
        given_up = self.broker.opened.records(GIVEN_UP_TOPIC, 0)
        record = [*self.transactions.halves(), *given_up][-1]
        message_id = offset_id.encode(record.store_host, record.physical_offset)
        header = ResumeCheckHalfMessageRequest(msg_id=message_id)
        self.broker.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, header)


EVENTS: Final[Mapping[str, Callable[[Case], None]]] = {
    "commit": lambda case: case.decide(COMMIT),
    "roll back": lambda case: case.decide(ROLLBACK),
    "check": Case.check,
    "check after the last try": Case.check_last,
    "resume": Case.resume,
}

WAYS: Final[Mapping[TransactionState, Sequence[str]]] = {
    TransactionState.OPEN: (),
    TransactionState.COPIED: ("check",),
    TransactionState.COMMITTED: ("check", "commit"),
    TransactionState.ROLLED_BACK: ("roll back",),
    TransactionState.GIVEN_UP: ("check after the last try",),
}


def test_every_event_of_the_table_is_tried() -> None:
    assert set(TRANSACTION.events) == set(EVENTS)
    assert set(TRANSACTION.states) == set(WAYS) == set(TransactionState)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", WAYS, ids=lambda state: state.name)
def test_transaction_does_what_the_table_says(state: TransactionState, event: str) -> None:
    case = Case()
    for step in WAYS[state]:
        EVENTS[step](case)
    assert case.state() is state
    EVENTS[event](case)
    table = TRANSACTION
    assert case.state() is (table.next(state, event) if table.allows(state, event) else state)
