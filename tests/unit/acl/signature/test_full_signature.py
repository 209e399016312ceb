"""Tests signatures that cover the request code and are valid once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantrymq.acl.guard import Guard
from gantrymq.acl.plain.accounts import Account, Rules
from gantrymq.acl.requests.needs import BROKER_REQUESTS
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.signature import full_signature
from gantrymq.acl.signature.full_signature import (
    ACCOUNT_SIGNERS_MAX,
    APART_MS_MAX,
    SIGNERS_MAX,
    WINDOW,
    ReplayTable,
    Signer,
)
from gantrymq.acl.signature.signature import (
    ACCESS_KEY,
    FULL_SIGNATURE,
    SIGNATURE,
    Credentials,
    is_signed,
    signed,
)
from gantrymq.acl.signature.signature import FULL_MARK as MARK
from gantrymq.acl.users.user_rules import UserRules
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command

NOW_MS = 1_700_000_000_000
CREDENTIALS = Credentials("the-admin", "12345678")
PEER = "10.1.1.1:40000"


def signer(name: str = "0123456789abcdef") -> Signer:
    return Signer(CREDENTIALS, name)


def request(code: int = Code.GET_TOPIC_STATS_INFO, body: bytes = b"") -> Command:
    return Command(code, ext={"topic": "Orders", "other": "x"}, body=body)


def changed(command: Command, **ext: str) -> Command:
    return Command(command.code, ext={**(command.ext or {}), **ext}, body=command.body)


def admin_guard(rules: UserRules | None = None) -> Guard:
    account = Account(access_key="the-admin", secret_key="12345678", admin=True)
    accounts = Rules(accounts={"the-admin": account})
    return Guard(accounts, BROKER_REQUESTS, rules or UserRules())


def test_both_signatures_of_a_request_are_valid() -> None:
    command = signer().signed(request(), NOW_MS)
    assert full_signature.is_signed(command, "12345678")
    assert not full_signature.is_signed(command, "87654321")


def test_java_server_accepts_its_own_signature() -> None:
    """Java signs the values of all fields except Signature, including this signature's."""
    command = signer().signed(request(), NOW_MS)
    ext = dict(command.ext or {})
    again = signed(Command(command.code, ext=ext), CREDENTIALS)
    assert (again.ext or {})[SIGNATURE] == ext[SIGNATURE]


def test_captured_signature_is_invalid_for_another_code() -> None:
    """With RocketMQ's signature, a query of a topic that is sent again with code 215 deletes the
    topic."""
    captured = signer().signed(request(), NOW_MS)
    as_delete = Command(Code.DELETE_TOPIC_IN_BROKER, ext=captured.ext, body=captured.body)
    assert admin_guard().check(as_delete, Caller(PEER, NOW_MS)) is not None
    old = signed(request(), CREDENTIALS)
    as_delete = Command(Code.DELETE_TOPIC_IN_BROKER, ext=old.ext, body=old.body)
    assert admin_guard().check(as_delete, Caller(PEER, NOW_MS)) is None


@pytest.mark.parametrize(
    "change", [{"topic": "Other"}, {"more": "y"}, {"topic": "Order", "other": "sx"}]
)
def test_every_field_is_covered(change: dict[str, str]) -> None:
    command = changed(signer().signed(request(), NOW_MS), **change)
    assert not full_signature.is_signed(command, "12345678")


def test_body_is_covered() -> None:
    command = signer().signed(request(body=b"one"), NOW_MS)
    assert not full_signature.is_signed(
        Command(command.code, ext=command.ext, body=b"two"), "12345678"
    )


def test_request_with_both_signatures_needs_the_full_one() -> None:
    """RocketMQ's signature covers the concatenated values, which could be cut in other places."""
    ext = dict(signer().signed(request(), NOW_MS).ext or {})
    moved = {**ext, "GantrySignaturf": ext.pop(FULL_SIGNATURE)}
    del moved[FULL_SIGNATURE]
    assert not is_signed(Command(Code.DELETE_TOPIC_IN_BROKER, ext=moved), "12345678")
    head, tail = moved["GantrySignaturf"][:9], moved["GantrySignaturf"][9:]
    cut = {**moved, "GantrySignaturf": head, "GantrySignaturg": tail}
    assert not is_signed(Command(Code.DELETE_TOPIC_IN_BROKER, ext=cut), "12345678")


def test_request_is_accepted_once() -> None:
    guard, command = admin_guard(), signer().signed(request(), NOW_MS)
    assert guard.check(command, Caller(PEER, NOW_MS)) is None
    refused = guard.check(command, Caller(PEER, NOW_MS))
    assert refused is not None
    assert "seen before" in refused.remark


def test_request_that_waited_is_checked_again() -> None:
    guard, command = admin_guard(), signer().signed(request(), NOW_MS)
    assert guard.check(command, Caller(PEER, NOW_MS)) is None
    assert guard.check(command, Caller(PEER, NOW_MS, was_admitted=True)) is None


@pytest.mark.parametrize("apart_ms", [-APART_MS_MAX - 1, APART_MS_MAX + 1])
def test_request_signed_at_another_time_is_refused(apart_ms: int) -> None:
    command = signer().signed(request(), NOW_MS)
    refused = admin_guard().check(command, Caller(PEER, NOW_MS + apart_ms))
    assert refused is not None
    assert "NTP" in refused.remark


def test_full_signature_can_be_required() -> None:
    guard = admin_guard(UserRules(needs_full_signature=True))
    assert guard.check(signed(request(), CREDENTIALS), Caller(PEER, NOW_MS)) is not None
    assert guard.check(signer().signed(request(), NOW_MS), Caller(PEER, NOW_MS)) is None


def test_requests_may_arrive_out_of_order() -> None:
    table, one = ReplayTable(), signer()
    commands = [one.signed(request(), NOW_MS) for _ in range(WINDOW + 1)]
    assert table.fault(commands[-1], NOW_MS) is None
    assert table.fault(commands[1], NOW_MS) is None
    assert table.fault(commands[1], NOW_MS) is not None
    assert table.fault(commands[2], NOW_MS) is None
    assert table.fault(commands[0], NOW_MS) is not None, "it is too late to know"


def requests_of_invented_signers(count: int, account: str, signed_ms: int) -> Iterator[Command]:
    """With stamps only: the table does not check digests."""
    for number in range(count):
        stamp = f"{MARK}:{signed_ms}:{number:016x}:1:digest"
        yield Command(10, ext={ACCESS_KEY: account, FULL_SIGNATURE: stamp})


def test_table_of_signers_is_bounded_and_keeps_replayable_requests() -> None:
    table = ReplayTable()
    first = signer("f" * 16).signed(request(), NOW_MS)
    assert table.fault(first, NOW_MS) is None
    for command in requests_of_invented_signers(ACCOUNT_SIGNERS_MAX, "the-admin", NOW_MS + 1):
        assert table.fault(command, NOW_MS) is None
    assert table.fault(first, NOW_MS) is not None


def test_account_with_many_signers_does_not_block_other_accounts() -> None:
    """The account also signs ahead of time: forgotten requests count as seen until then."""
    table, service = ReplayTable(), signer()
    assert table.fault(service.signed(request(), NOW_MS), NOW_MS) is None
    ahead_ms = NOW_MS + APART_MS_MAX
    for command in requests_of_invented_signers(2 * ACCOUNT_SIGNERS_MAX, "inventor", ahead_ms):
        table.fault(command, NOW_MS)
    assert table.fault(service.signed(request(), NOW_MS + 1), NOW_MS + 1) is None
    newcomer = signer("f" * 16)
    assert table.fault(newcomer.signed(request(), NOW_MS + 1), NOW_MS + 1) is None


def test_full_table_evicts_from_the_account_with_most_signers() -> None:
    table, service = ReplayTable(), signer()
    before = service.signed(request(), NOW_MS)
    assert table.fault(before, NOW_MS) is None
    for account in range(SIGNERS_MAX // ACCOUNT_SIGNERS_MAX + 1):
        for command in requests_of_invented_signers(ACCOUNT_SIGNERS_MAX, f"a-{account}", NOW_MS):
            table.fault(command, NOW_MS)
    assert "seen before" in (table.fault(before, NOW_MS) or "")
    assert table.fault(service.signed(request(), NOW_MS), NOW_MS) is None


@pytest.mark.parametrize(
    "text",
    ["", "x", f"{MARK}:1:{16 * 'a'}:1", f"{MARK}:x:{16 * 'a'}:1:y", f"{MARK}:1:short:1:y"],
)
def test_malformed_stamp_is_refused(text: str) -> None:
    command = Command(10, ext={FULL_SIGNATURE: text})
    assert ReplayTable().fault(command, NOW_MS) is not None
    assert not full_signature.is_signed(command, "12345678")
