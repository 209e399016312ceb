"""Virtual time: clocks that go wrong, pauses, and lives that end."""

from __future__ import annotations

from random import Random

import pytest

from gantrymq.sim.group.group_world import Life, Place, World


def place_of(world: World, drift: float = 0.02) -> Place:
    return Place(world, 1, "one", Random(4), drift)


def test_things_happen_in_the_order_of_their_times() -> None:
    world, seen = World(1), list[str]()
    world.after(2.0, lambda: seen.append("later"))
    world.after(1.0, lambda: seen.append("first"))
    world.after(1.0, lambda: seen.append("second"))
    world.run(1.5)
    assert seen == ["first", "second"]
    world.run(3.0)
    assert (seen[-1], world.now) == ("later", 3.0)


def test_a_clock_that_drifts_shows_its_own_time_when_it_calls() -> None:
    world, shown = World(1), list[float]()
    place = place_of(world)
    began = place.monotonic
    place.after(10.0, lambda: shown.append(place.monotonic - began), Life())
    place.at(began + 20.0, lambda: shown.append(place.monotonic - began), Life())
    world.run(60.0)
    assert shown == pytest.approx([10.0, 20.0])
    assert place.monotonic - began != pytest.approx(60.0, rel=1e-4)


def test_callback_at_a_time_of_a_clock_runs_at_that_time() -> None:
    """Else it would ask for the same time again, and the world would stand still."""
    world = World(1)
    place = place_of(world)
    place._offset = 3.7  # with a large one hardly anything is lost
    late: list[float] = []

    def call_at(wanted: float) -> None:
        place.at(wanted, lambda: late.append(place.monotonic - wanted), Life())

    for number in range(10_000):
        call_at(place.monotonic + number / 997)
    world.run(60.0)
    assert len(late) == 10_000
    assert 0.0 <= min(late) <= max(late) < 1e-9


def test_what_meets_a_pause_waits_for_its_end_and_clocks_run_on() -> None:
    world, seen = World(1), list[float]()
    place = place_of(world, 0.0)
    place.pause(5.0)
    place.arrive(1.0, lambda: seen.append(world.now), Life())
    place.arrive(2.0, lambda: seen.append(world.now), Life())
    world.after(3.0, lambda: place.pause(4.0))
    world.run(20.0)
    assert seen == [7.0, 7.0]


def test_a_life_that_is_over_meets_nothing() -> None:
    world, seen, life = World(1), list[str](), Life()
    place = place_of(world)
    place.arrive(1.0, lambda: seen.append("in time"), life)
    place.arrive(3.0, lambda: seen.append("too late"), life)
    world.run(2.0)
    life.is_over = True
    world.run(4.0)
    assert seen == ["in time"]


def test_the_story_has_the_last_lines_and_its_digest_has_all() -> None:
    one, other = World(1), World(1)
    for number in range(1000):
        one.tell(f"line {number}")
        other.tell(f"line {number or 'other'}")
    assert str(one.story) == str(other.story)
    assert one.story.digest != other.story.digest


def test_what_one_concern_draws_does_not_move_another() -> None:
    assert World(7).random("a").random() == World(7).random("a").random()
    assert World(7).random("a").random() != World(7).random("b").random()
    assert World(8).random("a").random() != World(7).random("a").random()
