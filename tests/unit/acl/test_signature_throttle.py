"""Tests that failed authentication delays only the peer that failed."""

from __future__ import annotations

import pytest

from gantrymq.acl.guard import Guard
from gantrymq.acl.plain import plain_acl
from gantrymq.acl.requests.needs import BROKER_REQUESTS
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.rights.refusal import AuthenticationFailure, Refusal
from gantrymq.acl.signature.signature import ACCESS_KEY, Credentials, signed
from gantrymq.acl.signature_throttle import (
    CONNECTIONS_MAX,
    FORGOTTEN_SECONDS,
    FREE_FAILURES,
    LONGEST_SECONDS,
    PEERS_MAX,
    SignatureThrottle,
)
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

RULES = plain_acl.read(b"""\
accounts:
- {accessKey: orders-app, secretKey: 12345678}
- {accessKey: billing, secretKey: 12345678}
""")
RIGHT_KEY = "12345678"
HERE, THERE = "10.1.1.1:4000", "10.1.1.2:4000"


class Site:
    """A throttle, and connections to it."""

    def __init__(self) -> None:
        self.throttle = SignatureThrottle()
        self.guard = Guard(RULES, BROKER_REQUESTS)

    def ask(
        self,
        connection: object,
        *,
        account: str = "orders-app",
        key: str = RIGHT_KEY,
        peer: str = HERE,
        now: float = 0.0,
    ) -> Refusal | None:
        command = Command(RequestCode.GET_BROKER_RUNTIME_INFO, ext={})
        command = signed(command, Credentials(account, key))
        return self.throttle.check(self.guard, command, connection, Caller(peer), now)

    def fail(self, connection: object, times: int, *, peer: str = HERE, now: float = 0.0) -> None:
        """Fail so often, each time as soon as the signature is checked again."""
        for _ in range(times):
            refused = self.ask(connection, key="wrong", peer=peer, now=now)
            assert refused is not None
            assert refused.failure is AuthenticationFailure.WRONG_SIGNATURE
            now += LONGEST_SECONDS


def throttled(refused: Refusal | None) -> bool:
    return refused is not None and refused.failure is AuthenticationFailure.THROTTLED


def test_first_failures_cause_no_delay() -> None:
    site = Site()
    site.fail("c", FREE_FAILURES)
    assert site.ask("c") is None


def test_delay_of_a_connection_grows_with_each_failure() -> None:
    site, now, waited = Site(), 0.0, []
    site.fail("c", FREE_FAILURES)
    for _ in range(10):
        site.ask("c", key="wrong", now=now)
        begin = now
        while throttled(site.ask("c", key="wrong", now=now)):
            now += 0.25
        waited.append(now - begin)
    assert waited[:4] == [0.5, 1.0, 2.0, 4.0]
    assert waited[-1] == LONGEST_SECONDS


def test_valid_signature_is_not_checked_during_the_delay() -> None:
    """Otherwise one read with a thousand guesses would find the right one."""
    site = Site()
    site.fail("c", FREE_FAILURES + 1)
    refused = site.ask("c", now=0.0 + FREE_FAILURES * LONGEST_SECONDS)
    assert throttled(refused)
    assert refused is not None
    assert "Check signature failed for accessKey=orders-app" in refused.remark
    assert "checked in 0.5 s" in refused.remark
    assert site.ask("c", now=1e6) is None


@pytest.mark.parametrize("peer", [HERE, THERE])
def test_other_connection_with_a_valid_signature_is_admitted(peer: str) -> None:
    """A stranger cannot lock an account out, not even from a shared address."""
    site = Site()
    site.fail("c", 50)
    assert site.ask("d", peer=peer) is None


def test_each_new_connection_has_one_attempt() -> None:
    site = Site()
    site.fail("c", 20)
    for number in range(20):
        refused = site.ask(number, key="wrong", now=1500.0)
        assert refused is not None
        assert refused.failure is AuthenticationFailure.WRONG_SIGNATURE
        assert throttled(site.ask(number, now=1500.0))


def test_other_accounts_of_the_connection_are_not_delayed() -> None:
    site = Site()
    site.fail("c", FREE_FAILURES + 3)
    assert site.ask("c", account="billing") is None


def test_failures_are_forgotten_after_a_quiet_time() -> None:
    site = Site()
    site.fail("c", 20)
    later = 20 * LONGEST_SECONDS + FORGOTTEN_SECONDS
    site.fail("d", FREE_FAILURES, now=later)
    assert site.ask("d", now=later + 5 * LONGEST_SECONDS) is None


def test_accounts_that_do_not_exist_share_one_entry_whatever_their_length() -> None:
    site = Site()
    for number in range(1000):
        refused = site.ask(number, account=f"{number}{'x' * 100_000}")
        assert refused is not None
        assert len(refused.remark) < 1000
    assert list(site.throttle._peers) == [("10.1.1.1", "")]
    assert throttled(site.ask(999, account="another"))
    assert site.ask(999) is None


def test_the_tables_are_bounded() -> None:
    site = Site()
    for number in range(PEERS_MAX + 100):
        peer = f"10.2.{number // 250}.{number % 250}:1"
        for _ in range(FREE_FAILURES + 1):
            site.ask(("c", number), key="wrong", peer=peer)
    site.fail("e", FREE_FAILURES)
    assert len(site.throttle._peers) == PEERS_MAX
    for number in range(CONNECTIONS_MAX + 100):
        site.ask(("d", number), key="wrong")
    assert len(site.throttle._connections) == CONNECTIONS_MAX


def test_a_connection_that_ended_is_forgotten() -> None:
    site = Site()
    site.fail("c", FREE_FAILURES + 1)
    site.throttle.closed("c")
    assert not site.throttle._connections


def test_failures_are_counted_by_their_kind() -> None:
    site = Site()
    site.fail("c", FREE_FAILURES + 1)
    site.ask("c", now=FREE_FAILURES * LONGEST_SECONDS)
    site.ask("d", account="absent")
    unsigned = Command(RequestCode.GET_BROKER_RUNTIME_INFO)
    site.throttle.check(site.guard, unsigned, "d", Caller(HERE), 0.0)
    assert site.throttle.counts == {
        AuthenticationFailure.UNSIGNED: 1,
        AuthenticationFailure.UNKNOWN_ACCOUNT: 1,
        AuthenticationFailure.WRONG_SIGNATURE: FREE_FAILURES + 1,
        AuthenticationFailure.THROTTLED: 1,
        AuthenticationFailure.REPLAYED: 0,
    }


def test_log_lines_become_rarer() -> None:
    site, logged = Site(), []
    for number in range(1, 1025):
        refused = site.ask(number, key="wrong")
        assert refused is not None
        if refused.is_logged:
            logged.append(number)
        later = site.ask(number)
        assert not throttled(later) or not (later and later.is_logged)
    assert logged == [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024]


def test_a_request_without_an_account_is_answered_as_before() -> None:
    site = Site()
    site.fail("c", FREE_FAILURES + 1)
    command = Command(RequestCode.GET_BROKER_RUNTIME_INFO, ext={ACCESS_KEY: "orders-app"})
    refused = site.throttle.check(site.guard, command, "e", Caller(HERE), 0.0)
    assert refused is not None
    assert refused.failure is AuthenticationFailure.WRONG_SIGNATURE
