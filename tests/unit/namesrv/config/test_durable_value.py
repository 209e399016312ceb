"""Values that count once they are in their file."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gantrymq.fakes.brokers.namesrv import FakeChannel
from gantrymq.namesrv.core.config.durable_value import DurableValue
from gantrymq.namesrv.core.messages import Request
from gantrymq.wire.command import Command


def asked() -> Request:
    return Request(Command(100), FakeChannel())


def append(text: str, letters: Sequence[str]) -> str:
    return text + "".join(letters)


def test_a_change_counts_when_it_is_written() -> None:
    kept = DurableValue("", append)
    request = asked()
    kept.change(request, "a")
    assert (kept.next_write(), kept.value) == ("a", "")
    assert kept.written(failed=False) == [request]
    assert (kept.value, kept.next_write()) == ("a", None)


def test_changes_during_a_write_go_together_into_the_next() -> None:
    kept = DurableValue("", append)
    requests = [asked(), asked(), asked()]
    kept.change(requests[0], "a")
    kept.next_write()
    for request, letter in zip(requests[1:], "bc", strict=True):
        kept.change(request, letter)
    assert kept.next_write() is None
    assert kept.unsafe() == ["a", "b", "c"]
    kept.written(failed=False)
    assert kept.next_write() == "abc"
    assert kept.written(failed=False) == requests[1:]


def test_a_change_that_could_not_be_written_is_discarded() -> None:
    kept = DurableValue("", append)
    kept.change(asked(), "a")
    kept.next_write()
    kept.change(asked(), "b")
    kept.written(failed=True)
    assert kept.value == ""
    assert kept.next_write() == "b"
    kept.written(failed=False)
    assert (kept.value, kept.waiting) == ("b", 0)


def test_an_end_without_a_write_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        DurableValue("", append).written(failed=False)
