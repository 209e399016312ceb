"""Tests rules that apply to every request."""

from __future__ import annotations

import pytest

from gantrymq.fakes.brokers.namesrv import Broker, Desk
from gantrymq.namesrv.core.messages import Silent
from gantrymq.namesrv.core.requests import REQUESTS
from gantrymq.wire.codes import RequestCode as Code

SERVED = {
    100, 101, 102, 103, 104, 105, 106, 205, 206, 216, 217, 219, 224, 304, 311, 312, 313, 318, 319,
    322, 327, 901, 904,
}  # fmt: skip


def test_what_a_java_name_server_serves_is_served() -> None:
    assert set(REQUESTS) == SERVED


@pytest.mark.parametrize("code", [9999, -5, 10, Code.HEART_BEAT])
def test_other_codes_are_not_supported(code: int) -> None:
    desk = Desk()
    answer = desk.ask(code)
    assert (answer.code, answer.remark) == (3, f" request type {code} not supported")
    assert desk.core.counters.requests == {(-1, 3): 1}


@pytest.mark.parametrize("code", [*sorted(SERVED), 9999])
def test_oneway_requests_are_never_answered(code: int) -> None:
    desk = Desk()
    assert desk.tell(code, Broker().header(), b"nonsense") == Silent()


def test_a_oneway_request_is_carried_out() -> None:
    desk = Desk()
    desk.registered(Broker())
    desk.tell(Code.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "a"})
    assert desk.perms("T") == {"a": 4}


@pytest.mark.parametrize("code", sorted(SERVED))
@pytest.mark.parametrize("ext", [None, {}, {"brokerId": "x", "bodyCrc32": "", "compressed": ""}])
@pytest.mark.parametrize("body", [b"", b"\xff\x00", b"{", b"[]", b"null", b"\x78\x9c"])
def test_an_invalid_request_gets_a_response(
    code: int, ext: dict[str, str] | None, body: bytes
) -> None:
    desk = Desk()
    assert desk.ask(code, ext, body).code in {0, 1, 17, 22}
    desk.assert_empty()


def test_requests_are_counted_by_code_and_outcome() -> None:
    desk = Desk()
    desk.route("T")
    desk.ask(Code.PUT_KV_CONFIG, {"namespace": "n", "key": "k", "value": "v"})
    assert desk.core.counters.requests == {(105, 17): 1, (100, 0): 1}


def test_no_peer_can_forge_a_line_of_the_log_or_fill_it() -> None:
    desk = Desk()
    desk.registered(Broker(name="a\n2026-11-21 INFO forged", topics=("T" * 500, "U\r\x1b[31m")))
    item = {"namespace": "n", "key": "k\u2028", "value": "v" * 60_000}
    assert desk.ask(Code.PUT_KV_CONFIG, item).code == 0
    assert all(line.isprintable() and len(line) <= 2100 for line in desk.lines)
