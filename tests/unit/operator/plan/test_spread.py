"""Tests how masters are spread over nodes."""

from __future__ import annotations

from itertools import product
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gantrymq.operator.plan.spread import Choice, largest_share, next_move, spread

NODES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)


def choices_of(groups: list[list[str]], fixed: int = 0) -> list[Choice]:
    return [
        Choice(f"g{index}", dict(enumerate(nodes, 1)), is_fixed=index < fixed)
        for index, nodes in enumerate(groups)
    ]


def share(choices: list[Choice], masters: dict[str, int]) -> int:
    return largest_share({each.group: each.nodes[masters[each.group]] for each in choices})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(NODES, min_size=1, max_size=5))
def test_no_other_assignment_is_spread_better(groups: list[list[str]]) -> None:
    choices = choices_of(groups)
    best = min(
        largest_share({f"g{index}": node for index, node in enumerate(nodes)})
        for nodes in product(*groups)
    )
    assert share(choices, spread(choices)) == best


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(NODES, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_moves_one_after_the_other_end_where_no_assignment_is_spread_better(
    groups: list[list[str]], random: Random
) -> None:
    choices = choices_of(groups)
    masters = {each.group: random.choice(list(each.nodes)) for each in choices}
    for _ in range(len(groups) ** 2 + 1):
        move = next_move(choices, masters)
        if move is None:
            break
        masters[move[0]] = move[1]
    assert next_move(choices, masters) is None
    assert share(choices, masters) == share(choices, spread(choices))


def test_room_is_made_before_a_master_moves_to_a_full_node() -> None:
    choices = choices_of([["a", "b"], ["b", "c"], ["a", "b"]])
    masters = {"g0": 1, "g1": 1, "g2": 1}
    assert next_move(choices, masters) == ("g1", 2)
    assert next_move(choices, masters | {"g1": 2}) == ("g0", 2)
    assert next_move(choices, masters | {"g1": 2, "g0": 2}) is None


def test_a_choice_of_the_user_is_not_moved() -> None:
    assert next_move(choices_of([["a", "b"], ["a", "b"]], fixed=2), {"g0": 1, "g1": 1}) is None


def test_first_choices_stay_where_they_are_spread() -> None:
    assert spread(choices_of([["a", "b"], ["b", "a"]])) == {"g0": 1, "g1": 1}


def test_a_crossed_pair_has_a_master_on_each_node() -> None:
    assert sorted(spread(choices_of([["a", "b"], ["a", "b"]])).values()) == [1, 2]


def test_only_as_many_move_as_have_to() -> None:
    masters = spread(choices_of([["a", "b"], ["a", "c"], ["b", "a"]]))
    assert masters == {"g0": 1, "g1": 2, "g2": 1}


def test_choices_of_the_user_stay_though_they_crowd() -> None:
    masters = spread(choices_of([["a", "b"], ["a", "b"], ["a", "b"]], fixed=2))
    assert masters == {"g0": 1, "g1": 1, "g2": 2}


def test_a_group_that_has_no_choice_is_left_out() -> None:
    assert spread([Choice("g0", {}), Choice("g1", {1: "a"})]) == {"g1": 1}


def test_nothing_to_spread() -> None:
    assert spread([]) == {}
    assert largest_share({}) == 0


def test_sixty_four_groups_on_five_nodes_are_spread() -> None:
    groups = [[f"n{(index + shift) % 5}" for shift in range(3)] for index in range(64)]
    choices = choices_of([["n0", *nodes] if "n0" not in nodes else nodes for nodes in groups])
    assert share(choices, spread(choices)) == 13
