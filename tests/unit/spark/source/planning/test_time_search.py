"""Whatever a broker guesses, the first message that is new enough is found."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.spark.source.planning.bounds import Bounds
from gantrymq.spark.source.planning.time_search import first_stored_at

TIMES = st.lists(st.integers(0, 20), max_size=30).map(sorted)


def search(times: list[int], first: int, moment: int, guess: int) -> tuple[int | None, int]:
    """The answer, and how many messages were looked at."""
    looks = 0

    async def stored_ms(offset: int) -> int:
        nonlocal looks
        looks += 1
        assert first <= offset < first + len(times)
        return times[offset - first]

    has = Bounds(first, first + len(times))
    return asyncio.run(first_stored_at(moment, has, guess, stored_ms)), looks


@given(TIMES, st.integers(0, 5), st.integers(0, 21), st.integers(0, 40))
def test_the_first_message_that_is_new_enough_is_found(
    times: list[int], first: int, moment: int, guess: int
) -> None:
    wanted = [first + index for index, time in enumerate(times) if time >= moment]
    found, _ = search(times, first, moment, guess)
    assert found == (wanted[0] if wanted else None)


def test_a_right_guess_costs_two_reads() -> None:
    assert search([1, 2, 3, 5, 5, 9], 10, 5, 13) == (13, 2)


def test_a_wrong_guess_costs_few_reads() -> None:
    found, looks = search(list(range(1000)), 0, 700, 0)
    assert found == 700
    assert looks <= 12
