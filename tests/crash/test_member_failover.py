"""Kills, stops and suspends the master of three real brokers while clients send."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantrymq.client import Message
from gantrymq.client.blocking import Producer
from gantrymq.crash.member_group import START_SECONDS, TOPIC, MemberGroup, Sender
from gantrymq.store.commitlog.truncated_tails import TAILS

# A lease's duration, and what a busy machine adds; how long it really took is shown.
TAKEN_OVER_SECONDS = 30.0
WORK_SECONDS = 2.0
SLEEP_SECONDS = 6.0
OUTAGE_SECONDS = 8.0


@pytest.fixture
def group(tmp_path: Path) -> Iterator[MemberGroup]:
    with MemberGroup(tmp_path) as group:
        group.start()
        yield group


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[MemberGroup]:
    """Each broker with the process that knows when it is dead."""
    with MemberGroup(tmp_path) as group:
        group.start("--guarded")
        yield group


def work(group: MemberGroup, sender: Sender, seconds: float = WORK_SECONDS) -> None:
    """The sender gets acknowledgements, and goes on for so long."""
    count = len(sender.acknowledged)
    group.wait(lambda: len(sender.acknowledged) > count, "a message is acknowledged")
    time.sleep(seconds)


def test_another_member_takes_over_from_one_that_was_killed(
    group: MemberGroup, figures: list[str]
) -> None:
    with group.sending() as sender:
        work(group, sender)
        old, began = group.master, time.monotonic()
        old.kill()
        seconds = group.wait_until_led(not_by=old.number, seconds=TAKEN_OVER_SECONDS)
        work(group, sender)
        old.start()
        group.wait_until_well()
    group.check(sender)
    assert group.master is not old
    figures.append(
        f"members, kill -9 of the master: another one after {seconds:.1f} s, no message is"
        f" acknowledged for {sender.gap(began):.1f} s, {len(sender.acknowledged)} checked"
    )


def test_supervisor_that_reaped_the_master_releases_its_lease(
    guarded: MemberGroup, figures: list[str]
) -> None:
    with guarded.sending() as sender:
        work(guarded, sender)
        old, began = guarded.master, time.monotonic()
        old.kill_guarded()
        seconds = guarded.wait_until_led(not_by=old.number, seconds=TAKEN_OVER_SECONDS)
        work(guarded, sender)
        old.start("--guarded")
        guarded.wait_until_well()
    guarded.check(sender)
    assert guarded.master is not old
    figures.append(
        f"members, kill -9 of a guarded master: another one after {seconds:.1f} s, no message is"
        f" acknowledged for {sender.gap(began):.1f} s, {len(sender.acknowledged)} checked"
    )


def test_a_master_that_is_told_to_stop_hands_over(group: MemberGroup, figures: list[str]) -> None:
    with group.sending() as sender:
        work(group, sender)
        old, began = group.master, time.monotonic()
        old.finish(20.0)
        assert group.holder not in (0, old.number), "another member was master before it was gone"
        assert old.said("handing over") == 1
        work(group, sender)
        old.start()
        group.wait_until_well()
    group.check(sender)
    figures.append(
        f"members, SIGTERM of the master: no message is acknowledged for {sender.gap(began):.1f} s,"
        f" {len(sender.acknowledged)} checked"
    )


def test_operator_chooses_the_master(group: MemberGroup, figures: list[str]) -> None:
    with group.sending() as sender:
        work(group, sender)
        old, began = group.master, time.monotonic()
        chosen = old.number % 3 + 1
        group.annotate_lease(switch_to=str(chosen), switch_number="1")
        group.wait(lambda: group.holder == chosen, "the chosen one is master")
        work(group, sender)
        group.wait_until_well()
    group.check(sender)
    assert group.note("granted") == "1"
    figures.append(
        f"members, a switchover: no message is acknowledged for {sender.gap(began):.1f} s,"
        f" {len(sender.failures)} sends failed, {len(sender.acknowledged)} checked"
    )


def test_killed_follower_delays_sends_for_a_bounded_time(
    group: MemberGroup, figures: list[str]
) -> None:
    with group.sending() as sender:
        work(group, sender)
        gone = next(each for each in group.members.values() if each is not group.master)
        began = time.monotonic()
        gone.kill()
        group.wait_until_well()
        work(group, sender)
        gone.start()
        group.wait_until_well()
    group.check(sender)
    figures.append(
        f"members, kill -9 of a follower: no message is acknowledged for {sender.gap(began):.1f} s,"
        f" {len(sender.failures)} sends failed, {len(sender.acknowledged)} checked"
    )


def test_follower_that_stops_cleanly_delays_no_send(group: MemberGroup, figures: list[str]) -> None:
    with group.sending() as sender:
        work(group, sender)
        gone = next(each for each in group.members.values() if each is not group.master)
        began = time.monotonic()
        gone.finish(20.0)
        seconds = time.monotonic() - began
        assert str(gone.number) not in group.note("in-sync").split(",")
        work(group, sender)
        gap = sender.gap(began)
        gone.start()
        group.wait_until_well()
    group.check(sender)
    figures.append(
        f"members, SIGTERM of a follower: no message is acknowledged for {gap:.2f} s,"
        f" its end takes {seconds:.1f} s, {len(sender.acknowledged)} checked"
    )


@pytest.mark.parametrize("fault", ["refuse", "hang"])
def test_a_master_without_the_api_goes_on_while_the_others_promise(
    group: MemberGroup, fault: str, figures: list[str]
) -> None:
    with group.sending() as sender:
        work(group, sender)
        old, began = group.master, time.monotonic()
        for number in group.members:
            group.control(number, fault=fault)
        work(group, sender, OUTAGE_SECONDS)
        gap = sender.gap(began)
        for number in group.members:
            group.control(number, fault="none")
        work(group, sender)
        group.wait_until_well()
    group.check(sender)
    assert group.master is old
    figures.append(
        f"members, {fault} of the API for {OUTAGE_SECONDS:.0f} s: no message is acknowledged for"
        f" {gap:.1f} s, {len(sender.failures)} sends failed, {len(sender.acknowledged)} checked"
    )


def test_a_master_that_slept_is_none_when_it_wakes_up(
    group: MemberGroup, figures: list[str]
) -> None:
    with group.sending() as sender:
        work(group, sender)
        old, began = group.master, time.monotonic()
        old.process.pause()
        time.sleep(SLEEP_SECONDS)
        group.wait_until_led(not_by=old.number, seconds=TAKEN_OVER_SECONDS)
        old.process.resume()
        work(group, sender)
        group.wait_until_well()
    group.check(sender)
    assert old.said("became slave") == 1
    figures.append(
        f"members, SIGSTOP of the master: no message is acknowledged for {sender.gap(began):.1f} s,"
        f" {len(sender.acknowledged)} checked"
    )


def test_what_a_master_had_alone_is_cut_when_another_one_leads(
    group: MemberGroup, figures: list[str]
) -> None:
    with group.sending() as sender, Producer("alone", name_servers=group.names.address) as alone:
        alone.send(Message(TOPIC, "to know the way"))
        work(group, sender)
        old = group.master
        others = [each for each in group.members.values() if each is not old]
        # Else it soon leads by itself, and what it has alone is what counts.
        group.control(old.number, fault="fail", methods=["PUT"])
        for other in others:
            other.kill()
        alone.send_oneway(Message(TOPIC, "in one log alone"))
        group.wait(lambda: old.has_logged(b"in one log alone"), "it is in one log")
        old.process.pause()
        group.control(old.number, fault="none")
        for other in others:
            other.start()
        group.wait_until_led(not_by=old.number, seconds=START_SECONDS)
        old.process.resume()
        group.wait_until_well()
        work(group, sender)
    group.check(sender)
    assert old.said("truncating log") == 1
    assert old.said("boot success") == 2, "it starts anew in the same process"
    [tail] = (old.folder / "store" / TAILS).iterdir()
    assert b"in one log alone" in tail.read_bytes(), "what was cut is kept"
    figures.append(f"members, a log that was cut: {len(sender.acknowledged)} checked")
