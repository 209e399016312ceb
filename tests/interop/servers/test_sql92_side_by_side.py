"""Tests that SQL92 expressions select the same messages as in Java's filter.

Some are made by the grammar, so that most are valid; some are rows of words, of which most are not.
Gantry differs on purpose in hexadecimal doubles, and in the bounds on length and depth.
"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantrymq.broker.core.sql92.selector import compiled
from gantrymq.broker.core.sql92.tokens import SelectorError
from gantrymq.interop.clients.drivers import Driver
from gantrymq.interop.releases import REFERENCE
from gantrymq.interop.toolchain import JarSet

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

EXPRESSIONS = 3000
NAMES = ("a", "b", "c", "$d_1", "TAGS")
TEXTS = ("'x'", "''", "'3'", "'it''s'", "'TRUE'", "'ab'", "'3.5'")
NUMBERS = (
    *("0", "1", "3", "23", "5L", "2147483647", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "1.5", "3.", ".5", "1e3", "3.0", "9007199254740993"),
    *("9007199254740992.0", "0.0", "1e400", "1e-400", "007", "0l", "12l"),
)
CONSTANTS = ("TRUE", "false", "NULL")
TESTS = ("contains", "startswith", "endswith")
VALUES = (
    *("1", "3", "3.0", "3.5", "-3", "+3", "23", "x", "ab", "abab", "it's", "", " 3 ", "true"),
    *("TRUE", "2147483647", "2147483648", "-2147483648", "9223372036854775807", "1e3", "NaN"),
    *(
        "Infinity",
        "-0.0",
        "0",
        "0.0",
        "1_0",
        "nan",
        "inf",
        "3f",
        "5D",
        "٣",
        "3 ",
        "9007199254740993",
    ),
    *("00000000000000000000000003", "99999999999999999999", "\u017f", "3\u00a0", "\x1f3"),
)
WORDS = (
    *NAMES,
    *TEXTS,
    *NUMBERS,
    *CONSTANTS,
    *("=", "<>", "<", "<=", ">", ">=", "(", ")", ",", "+", "-", "and", "OR", "Not", "is", "in"),
    *(
        "between",
        "contains",
        "StartsWith",
        "endswith",
        "-- c\n",
        "-- c",
        "/* c */",
        "/*/",
        "!=",
        ";",
    ),
    *("like", "'", '"x"', "/***/", "%", "&&", "==", "\u00e4", "\t", "\n"),
)


def condition(dice: random.Random, depth: int) -> str:
    """A text that is usually a condition."""
    if depth == 0 or dice.random() < 0.3:
        return comparison(dice, depth)
    kind = dice.randrange(5)
    left = condition(dice, depth - 1)
    if kind == 0:
        return f"not ({left})"
    if kind == 1:
        return f"({left})"
    sign = dice.choice(["and", "or"])
    return f"{left} {sign} {condition(dice, depth - 1)}"


def comparison(dice: random.Random, depth: int) -> str:
    left, right, third = (operand(dice, depth) for _ in range(3))
    not_ = dice.choice(["", "", "not "])
    listed = ", ".join(dice.choices(TEXTS, k=dice.randrange(1, 7)))
    return dice.choice(
        [
            f"{left} {dice.choice(['=', '<>', '<', '<=', '>', '>='])} {right}",
            f"{left} {dice.choice(['=', '<>', '<', '<=', '>', '>='])} {right}",
            f"{left} is {not_}null",
            f"{left} {not_}between {right} and {third}",
            f"{dice.choice(NAMES)} {not_}in ({listed})",
            f"{left} {not_}{dice.choice(TESTS)} {dice.choice(TEXTS)}",
            dice.choice(NAMES),
            dice.choice(CONSTANTS),
        ]
    )


def operand(dice: random.Random, depth: int) -> str:
    if depth and dice.random() < 0.1:
        return f"({condition(dice, depth - 1)})"
    text = dice.choice([*NAMES * 5, *NUMBERS, *TEXTS, *CONSTANTS])
    return dice.choice(["", "", "", "", "-", "+", "- -"]) + text


def words(dice: random.Random) -> str:
    start = condition(dice, 1) + " " if dice.random() < 0.5 else ""
    return start + " ".join(dice.choices(WORDS, k=dice.randrange(1, 7)))


@pytest.fixture(scope="module")
def java(folder: Callable[[str], Path]) -> Iterator[Driver]:
    with Driver(JarSet.FILTER, REFERENCE, folder("filter")) as driver:
        yield driver


@pytest.mark.parametrize("seed", range(2))
def test_java_and_gantry_select_the_same(java: Driver, seed: int) -> None:
    dice = random.Random(seed)
    expressions = [
        condition(dice, dice.randrange(4)) if dice.random() < 0.7 else words(dice)
        for _ in range(EXPRESSIONS)
    ]
    properties = [
        {name: dice.choice(VALUES) for name in NAMES if dice.random() < 0.8} for _ in range(40)
    ]
    java.order({"expressions": expressions, "properties": properties})
    answers = java.outcome()["answers"]
    assert isinstance(answers, list)
    ours = [chosen(expression, properties) for expression in expressions]
    assert sum(answer is None for answer in answers) > EXPRESSIONS // 10
    assert sum(answer is not None and len(set(answer)) == 2 for answer in answers) > 300
    different = [
        (expression, answer, mine)
        for expression, answer, mine in zip(expressions, answers, ours, strict=True)
        if answer != mine
    ]
    assert not different, different[:10]


def chosen(expression: str, properties: list[dict[str, str]]) -> list[bool] | None:
    """The messages that Gantry selects; None if it refuses the expression."""
    try:
        selector = compiled(expression)
    except SelectorError:
        return None
    return [selector.chooses(named) for named in properties]
