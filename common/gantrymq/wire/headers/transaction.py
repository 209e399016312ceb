"""Headers to end transactions, and to check their state."""

from __future__ import annotations

from typing import Annotated

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.header import Header, Int32, Int64, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionRequest(Header):
    """END_TRANSACTION; `commit_or_rollback` is 8 commit, 12 roll back, 0 unknown."""

    producer_group: str
    tran_state_table_offset: Int64
    commit_log_offset: Int64
    commit_or_rollback: Int32
    from_transaction_check: bool | None = None
    msg_id: str
    transaction_id: str | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None
    topic: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTransactionStateRequest(Header):
    """CHECK_TRANSACTION_STATE, broker to producer; the body is the half message."""

    topic: str | None = None
    tran_state_table_offset: Int64
    commit_log_offset: Int64
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None
    broker_name: Annotated[str | None, Wire("bname")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeCheckHalfMessageRequest(Header):
    """RESUME_CHECK_HALF_MESSAGE."""

    topic: str | None = None
    msg_id: str | None = None
