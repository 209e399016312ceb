"""Which epochs a log has, and where two logs part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError
from gantrymq.ha.disk.epochs import Epoch, Epochs, begun, cut, divergence, trimmed

FOUR = (Epoch(1, 0), Epoch(4, 100), Epoch(5, 300), Epoch(9, 700))


def test_an_epoch_begins_at_the_logs_end() -> None:
    assert begun((), 3, 50) == (Epoch(3, 50),)
    assert begun(FOUR[:1], 4, 100) == FOUR[:2]


def test_an_epoch_without_a_record_is_forgotten() -> None:
    assert begun(FOUR, 10, 700) == (*FOUR[:3], Epoch(10, 700))


def test_epoch_that_the_log_never_reached_is_dropped() -> None:
    assert begun(FOUR, 10, 699) == (*FOUR[:3], Epoch(10, 699))


@pytest.mark.parametrize("number", [8, 9])
def test_numbers_do_not_go_back(number: int) -> None:
    with pytest.raises(LocalError, match="numbers rise"):
        begun(FOUR, number, 800)


def test_what_is_cut_takes_its_epochs_along() -> None:
    assert cut(FOUR, 301) == FOUR[:3]
    assert cut(FOUR, 300) == FOUR[:2]
    assert cut(FOUR, 0) == ()


def test_deleted_log_files_drop_the_epochs_that_ended_in_them() -> None:
    assert trimmed(FOUR, 99) == FOUR
    assert trimmed(FOUR, 100) == FOUR[1:]
    assert trimmed(FOUR, 9_999) == FOUR[3:]
    assert trimmed((), 5) == ()


def test_logs_diverge_where_the_last_common_epoch_ends() -> None:
    assert divergence(FOUR, 800, FOUR, 900) == 800
    assert divergence(FOUR, 800, FOUR[:3], 500) == 500
    assert divergence(FOUR, 800, (*FOUR[:3], Epoch(8, 650)), 900) == 650


def test_logs_without_a_common_epoch_may_have_nothing_in_common() -> None:
    assert divergence(FOUR, 800, (), 0) is None
    assert divergence(FOUR[:2], 200, (Epoch(4, 90),), 200) is None


class Log:
    """Each byte says which epoch wrote it."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self.epochs: Epochs = ()

    def follow(self, other: Log) -> None:
        """As a member does that returns: what both do not have is cut, the rest is copied."""
        kept = divergence(self.epochs, len(self.written), other.epochs, len(other.written)) or 0
        assert self.written[:kept] == other.written[:kept]
        self.written = self.written[:kept]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3), st.booleans())))
def test_logs_of_alternating_masters_agree_below_their_divergence(
    story: list[tuple[int, int, int, bool]],
) -> None:
    """The master writes; the other members copy some of it, or nothing, and may lead next."""
    logs = [Log(), Log(), Log()]
    for number, (master_of, size, copied, both) in enumerate(story, 1):
        master = logs[master_of]
        master.epochs = begun(master.epochs, number, len(master.written))
        master.written += [number] * size
        for other in logs[: 3 if both else 2]:
            if other is master:
                continue
            other.follow(master)
            end = max(len(other.written), len(master.written) - copied)
            other.written = master.written[:end]
            other.epochs = cut(master.epochs, end)
    for one in logs:
        for other in logs:
            at = divergence(one.epochs, len(one.written), other.epochs, len(other.written)) or 0
            assert one.written[:at] == other.written[:at]
            rest = min(len(one.written), len(other.written))
            assert at == rest or one.written[at] != other.written[at]
