"""What answers to bulk sends mean."""

from __future__ import annotations

import pytest

from gantrymq.client.bulk.verdict import Verdict, judge
from gantrymq.wire.codes import ResponseCode as Code


def verdict(code: int, *, is_idempotent: bool = True, is_first: bool = True) -> Verdict:
    return judge(code, is_idempotent=is_idempotent, is_first_of_lane=is_first)


@pytest.mark.parametrize(
    "code", [Code.FLUSH_DISK_TIMEOUT, Code.FLUSH_SLAVE_TIMEOUT, Code.SLAVE_NOT_AVAILABLE]
)
def test_sessions_resend_messages_that_are_not_durable(
    code: Code,
) -> None:
    assert verdict(code) is Verdict.AGAIN
    assert verdict(code, is_idempotent=False) is Verdict.STORED


@pytest.mark.parametrize(
    "code", [Code.SYSTEM_BUSY, Code.SYSTEM_ERROR, Code.SERVICE_NOT_AVAILABLE, Code.TOPIC_NOT_EXIST]
)
def test_temporary_failures_are_retried(code: Code) -> None:
    assert verdict(code) is Verdict.AGAIN


@pytest.mark.parametrize(
    "code", [Code.MESSAGE_ILLEGAL, Code.NO_PERMISSION, Code.GANTRY_SESSION_FENCED]
)
def test_permanent_failures_are_errors(code: Code) -> None:
    assert verdict(code) is Verdict.REFUSED


def test_a_gap_after_a_failed_request_is_retried() -> None:
    assert verdict(Code.GANTRY_SESSION_OUT_OF_SEQUENCE, is_first=False) is Verdict.AGAIN


def test_a_gap_after_an_acknowledged_request_is_an_error() -> None:
    assert verdict(Code.GANTRY_SESSION_OUT_OF_SEQUENCE) is Verdict.REFUSED
