"""Tests when the real disk's background wakes the loop, and what a dead or stuck helper does."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import uvloop

from gantrymq.base.disk import Completion, DiskFailure
from gantrymq.base.errors import LocalError
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.runtime.storage.disk_background import SYNCS_MAX, DiskBackground
from gantrymq.testing.memory_disk import MemoryDisk

ANSWER_SECONDS = 30.0

ORPHANS = """
import sys
from pathlib import Path
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.runtime.storage.disk_background import DiskBackground
print(DiskBackground(FolderDisk(Path(sys.argv[1]))).helper_process, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[FolderDisk]:
    disk = FolderDisk(tmp_path)
    yield disk
    disk.close()


@pytest.fixture
def background(disk: FolderDisk) -> Iterator[DiskBackground]:
    background = DiskBackground(disk)
    yield background
    background.close()


def is_ready(background: DiskBackground, seconds: float) -> bool:
    return bool(select.select([background], [], [], seconds)[0])


def completions(background: DiskBackground, count: int) -> Sequence[Completion]:
    ended: list[Completion] = []
    while len(ended) < count:
        assert is_ready(background, ANSWER_SECONDS), "no completion in time"
        ended.extend(background.take_completions())
    return ended


def failures(ended: Sequence[Completion]) -> set[DiskFailure | None]:
    return {end.error.failure if end.error else None for end in ended}


def pause(background: DiskBackground) -> None:
    """Stop the helper; returns when it is stopped."""
    os.kill(background.helper_process, signal.SIGSTOP)
    os.waitid(os.P_PID, background.helper_process, os.WSTOPPED | os.WNOWAIT)


def test_descriptor_is_readable_while_completions_wait(
    disk: FolderDisk, background: DiskBackground
) -> None:
    assert not is_ready(background, 0)
    ticket = background.sync(disk.create("a"))
    assert is_ready(background, ANSWER_SECONDS)
    assert list(background.take_completions()) == [Completion(ticket)]
    assert not is_ready(background, 0)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_completion_wakes_the_loop(
    disk: FolderDisk,
    background: DiskBackground,
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def live() -> list[Completion]:
        ended: list[Completion] = []
        enough = asyncio.Event()

        def take() -> None:
            ended.extend(background.take_completions())
            if len(ended) == 2:
                enough.set()

        loop = asyncio.get_running_loop()
        loop.add_reader(background.fileno(), take)
        file = disk.create("a")
        background.sync(file)
        background.read(file, 0, 1)
        async with asyncio.timeout(ANSWER_SECONDS):
            await enough.wait()
        loop.remove_reader(background.fileno())
        file.close()
        return ended

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert failures(runner.run(live())) == {None}


def test_many_syncs_and_jobs_all_end(disk: FolderDisk, background: DiskBackground) -> None:
    file = disk.create("a")
    tickets = []
    for number in range(100):
        file.write(number, [b"x"])
        tickets += [background.sync(file), background.read(file, number, 1)]
    file.close()
    ended = completions(background, len(tickets))
    assert sorted(completion.ticket for completion in ended) == tickets
    assert failures(ended) == {None}


def test_a_sync_the_system_refuses_is_an_error(background: DiskBackground, tmp_path: Path) -> None:
    # A pipe cannot be synced: the one error of fdatasync that needs no broken device.
    os.mkfifo(tmp_path / "pipe")
    pipe = FolderDisk(tmp_path).open("pipe")
    background.sync(pipe)
    (ended,) = completions(background, 1)
    assert ended.error is not None
    assert ended.error.failure is DiskFailure.BROKEN
    assert str(ended.error) == "sync pipe: Invalid argument"
    pipe.close()


def test_a_stuck_helper_leaves_tickets_open_and_nothing_else(
    disk: FolderDisk, background: DiskBackground
) -> None:
    file = disk.create("a")
    pause(background)
    sync = background.sync(file)
    read = background.read(file, 0, 1)
    assert [completion.ticket for completion in completions(background, 1)] == [read]
    os.kill(background.helper_process, signal.SIGCONT)
    assert [completion.ticket for completion in completions(background, 1)] == [sync]
    file.close()


def test_a_dead_helper_breaks_its_tickets_and_all_later_ones(
    disk: FolderDisk, background: DiskBackground
) -> None:
    file = disk.create("a")
    pause(background)
    tickets = [background.sync(file), background.sync(file)]
    os.kill(background.helper_process, signal.SIGKILL)
    ended = completions(background, 2)
    assert [completion.ticket for completion in ended] == tickets
    assert failures(ended) == {DiskFailure.BROKEN}
    assert "status -9" in str(ended[0].error)
    assert not is_ready(background, 0), "a loop must not spin on a dead helper"
    later = background.sync(file)
    (last,) = completions(background, 1)
    assert (last.ticket, failures([last])) == (later, {DiskFailure.BROKEN})
    background.read(file, 0, 1)
    assert failures(completions(background, 1)) == {None}
    file.close()


def test_a_helper_that_dies_idle_is_noticed_at_the_next_sync(
    disk: FolderDisk, background: DiskBackground
) -> None:
    os.kill(background.helper_process, signal.SIGKILL)
    os.waitid(os.P_PID, background.helper_process, os.WEXITED | os.WNOWAIT)
    file = disk.create("a")
    background.sync(file)
    assert failures(completions(background, 1)) == {DiskFailure.BROKEN}
    file.close()


def test_helper_that_dies_idle_does_not_wake_the_loop(
    disk: FolderDisk, background: DiskBackground
) -> None:
    file = disk.create("a")
    background.sync(file)
    completions(background, 1)
    assert not background.take_completions()
    os.kill(background.helper_process, signal.SIGKILL)
    os.waitid(os.P_PID, background.helper_process, os.WEXITED | os.WNOWAIT)
    assert not is_ready(background, 0)
    background.read(file, 0, 1)
    assert failures(completions(background, 1)) == {None}
    file.close()


def test_syncs_in_progress_are_bounded(disk: FolderDisk, background: DiskBackground) -> None:
    file = disk.create("a")
    pause(background)
    for _ in range(SYNCS_MAX):
        background.sync(file)
    with pytest.raises(LocalError):
        background.sync(file)
    os.kill(background.helper_process, signal.SIGCONT)
    assert failures(completions(background, SYNCS_MAX)) == {None}
    file.close()


def test_helper_ignores_signals_of_the_group_and_ends_with_its_parent(
    disk: FolderDisk, background: DiskBackground
) -> None:
    file = disk.create("a")
    background.sync(file)
    completions(background, 1)
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(background.helper_process, number)
    background.sync(file)
    assert failures(completions(background, 1)) == {None}
    file.close()


def test_the_helper_ends_with_a_killed_parent(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ORPHANS, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        helper = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    assert select.select([helper], [], [], ANSWER_SECONDS)[0], "the helper outlived its parent"
    os.close(helper)


def test_closing_does_not_wait_for_a_stuck_helper(disk: FolderDisk) -> None:
    background = DiskBackground(disk)
    file = disk.create("a")
    pause(background)
    background.sync(file)
    background.close(stop_seconds=0.2)
    file.close()


def test_files_of_other_disks_are_refused(background: DiskBackground) -> None:
    with pytest.raises(LocalError):
        background.sync(MemoryDisk().create("a"))
