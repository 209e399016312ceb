"""Lists the states of a transaction, as the half queue and the op queue tell them.

`transaction_end`, `TransactionCheck` and `transaction_requests` carry the transitions out without
asking the table; a test drives them through every row. An event without a row in a state changes
nothing: a decision that comes late is refused.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gantrymq.base.transitions import Transition, Transitions


class TransactionState(Enum):
    """What is known of a transaction whose half message is stored."""

    OPEN = "its half message waits for the producer's decision"
    COPIED = "a copy at the end of the half queue represents it"
    COMMITTED = "its message is in its own topic, and an op message says that it is closed"
    ROLLED_BACK = "an op message says that it is closed"
    GIVEN_UP = "its half message is in TRANS_CHECK_MAX_TIME_TOPIC"


_S: Final = TransactionState
_GIVE_UP: Final = "copy in TRANS_CHECK_MAX_TIME_TOPIC, and an op message"
_NEW: Final = "a new transaction begins"

TRANSACTION: Final = Transitions(
    "transaction",
    _S.OPEN,
    [
        Transition(_S.OPEN, "commit", _S.COMMITTED, "final message and op message in one write"),
        Transition(_S.OPEN, "roll back", _S.ROLLED_BACK, "op message"),
        Transition(_S.OPEN, "check", _S.COPIED, "copy and op message; the producer is asked"),
        Transition(_S.OPEN, "check after the last try", _S.GIVEN_UP, _GIVE_UP),
        Transition(_S.OPEN, "resume", _S.COPIED, "a copy without checks, and an op message"),
        Transition(_S.COPIED, "commit", _S.COMMITTED, "final message and op message in one write"),
        Transition(_S.COPIED, "roll back", _S.ROLLED_BACK, "op message"),
        Transition(_S.COPIED, "check", _S.COPIED, "copy and op message; the producer is asked"),
        Transition(_S.COPIED, "check after the last try", _S.GIVEN_UP, _GIVE_UP),
        Transition(_S.COPIED, "resume", _S.COPIED, "a copy without checks, and an op message"),
        Transition(_S.GIVEN_UP, "resume", _S.OPEN, _NEW),
    ],
)
