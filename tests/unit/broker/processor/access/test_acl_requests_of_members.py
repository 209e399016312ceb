"""Tests how changes of accounts reach the members of a group and survive a new master."""

from __future__ import annotations

import pytest

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.signature.signature import signed
from gantrymq.broker.core.messages import File, Request
from gantrymq.broker.core.processor.access.acl_requests import UPDATE_FAILED
from gantrymq.broker.core.replication.metadata_replication import ACCOUNTS
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.access.accounts import ADMIN, CHANGES, PATH, RULES, account, ask, guarded
from gantrymq.fakes.groups.members import FakeMembers, Member
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command


def test_a_change_counts_here_and_waits_for_the_members() -> None:
    broker = guarded()
    broker.state.members = FakeMembers("member 2")
    code, ext, failure_code = CHANGES[0]
    request = broker.send(code, ext=signed(Command(code, ext=ext), ADMIN).ext)
    assert account(broker, "newcomer").access_key == "newcomer"
    broker.pass_time(2.9)
    assert broker.is_held(request)
    broker.pass_time(0.2)
    answer = broker.answer(request)
    assert answer is not None
    assert answer.code == failure_code
    assert "member 2" in (answer.remark or "")
    assert account(broker, "newcomer").access_key == "newcomer"


def electing(number: int) -> Member:
    member = Member(number, BrokerSettings(acl_enable=True, acl_file=PATH))
    member.state.access.replace(plain_acl.read(RULES))
    member.settle()
    return member


def overtaken() -> tuple[Member, Request]:
    """A master whose change is being written while another one comes to lead and changes more."""
    old, new = electing(1), electing(2)
    old.lead()
    old.files_are_stuck = True
    code, ext, _ = CHANGES[0]
    request = old.send(code, ext=signed(Command(code, ext=ext), ADMIN).ext)
    old.follow(new.address)
    new.lead(2)
    assert ask(new, Code.DELETE_ACL_CONFIG, accessKey="a-client").code == ResponseCode.SUCCESS
    old.copy_tables(new, ACCOUNTS)
    old.files_are_stuck = False
    return old, request


@pytest.mark.parametrize("failure", [None, "the disk is full"])
def test_a_change_that_another_master_overtook_is_over(failure: str | None) -> None:
    old, request = overtaken()
    [save] = old.unwritten
    old.write(save, failure)
    old.pass_time(2.0)
    guard = old.state.access.guard
    assert guard is not None
    assert list(guard.rules.accounts) == ["the-admin"]
    assert list(plain_acl.read(old.saved[File.ACL]).accounts) == ["the-admin"]
    assert not old.broker.unstored_tables
    answer = old.answer(request)
    assert answer is not None
    assert answer.code == UPDATE_FAILED
    assert "another broker became master meanwhile" in (answer.remark or "")


def test_a_file_that_lacks_the_masters_accounts_yet_is_not_taken_for_edited() -> None:
    old, _ = overtaken()
    [save] = old.unwritten
    old.files_are_stuck = True
    old.write(save)
    old.settle()
    [later] = old.unwritten
    old.write(later, "the disk is full")
    old.services.metadata_replication.accounts_edited(plain_acl.read(old.saved[File.ACL]))
    old.files_are_stuck = False
    old.pass_time(3.0)
    assert list(plain_acl.read(old.saved[File.ACL]).accounts) == ["the-admin"]
    edited = plain_acl.read(b"globalWhiteRemoteAddresses: [10.1.*.*]\n")
    old.services.metadata_replication.accounts_edited(edited)
    assert old.state.access.guard is not None
    assert old.state.access.guard.rules == edited


def test_a_change_that_was_overtaken_takes_no_later_one_along() -> None:
    old, request = overtaken()
    [save] = old.unwritten
    old.lead(3)
    old.files_are_stuck = True
    later = old.send(
        Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
        ext=signed(Command(53, ext={"globalWhiteAddrs": "10.1.*.*"}), ADMIN).ext,
    )
    old.write(save, "the disk is full")
    old.settle()
    assert not old.is_held(request)
    assert old.is_held(later)
    [save] = old.unwritten
    old.write(save)
    old.settle()
    answer = old.answer(later)
    assert answer is not None
    assert answer.code == ResponseCode.SUCCESS
    assert [each.text for each in plain_acl.read(old.saved[File.ACL]).global_white] == ["10.1.*.*"]


def test_a_change_that_fails_leaves_what_else_the_file_needs() -> None:
    old, new = electing(1), electing(2)
    new.lead()
    assert ask(new, Code.DELETE_ACL_CONFIG, accessKey="a-client").code == ResponseCode.SUCCESS
    old.files_are_stuck = True
    old.copy_tables(new, ACCOUNTS)
    [save] = old.unwritten
    old.write(save, "the disk is full")
    old.lead(2)
    code, ext, _ = CHANGES[0]
    request = old.send(code, ext=signed(Command(code, ext=ext), ADMIN).ext)
    [save] = [each for each in old.unwritten if each.file is File.ACL]
    old.write(save, "the disk is full")
    old.files_are_stuck = False
    old.pass_time(2.0)
    answer = old.answer(request)
    assert answer is not None
    assert answer.code == UPDATE_FAILED
    assert list(plain_acl.read(old.saved[File.ACL]).accounts) == ["the-admin"]


def test_a_change_of_an_earlier_reign_is_not_done() -> None:
    master = electing(1)
    members = FakeMembers()
    master.state.members = members
    master.lead()
    master.files_are_stuck = True
    code, ext, _ = CHANGES[0]
    request = master.send(code, ext=signed(Command(code, ext=ext), ADMIN).ext)
    [save] = master.unwritten
    master.follow("127.0.0.1:20911")
    members.epoch = 3
    master.lead(3)
    master.write(save)
    master.settle()
    answer = master.answer(request)
    assert answer is not None
    assert answer.code == UPDATE_FAILED
    assert "not master any more" in (answer.remark or "")
