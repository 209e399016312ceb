"""Every request code is served, or refused with a word on what to do instead."""

from __future__ import annotations

from itertools import combinations

import pytest

from gantrymq.broker.core.processor.admin.unsupported import REASONS
from gantrymq.broker.core.processor.requests import BOUND_TABLES, REQUEST_CODES, TABLES
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire.codes import RequestCode, ResponseCode


@pytest.mark.parametrize("code", sorted(REASONS))
def test_a_refusal_says_why(code: RequestCode) -> None:
    answer = OpenedBroker().ask(code)
    assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert answer.remark == f" request type {int(code)} not supported: {REASONS[code]}"


def test_every_code_is_decided_on() -> None:
    assert [code.name for code in RequestCode if code not in REQUEST_CODES] == []


def test_no_code_is_in_two_tables() -> None:
    tables = [set(table) for table in (*TABLES, *BOUND_TABLES)]
    twice = [one & other for one, other in combinations(tables, 2)]
    assert [codes for codes in twice if codes] == []
