"""Tests that a lazily completed class equals the standard library's dataclass."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import threading
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, field
from types import ModuleType

import pytest

import gantrymq.wire.bodies
import gantrymq.wire.headers
from gantrymq.base.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Base:
    """A base class with a field."""

    first: int


@dataclass(frozen=True, slots=True)
class Point(Base):
    second: str = "x"
    rest: list[int] = field(default_factory=list)
    hidden: int = field(default=0, repr=False, compare=False)

    @property
    def both(self) -> str:
        return f"{self.first}{self.second}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    name: str
    value: int | None = None


@dataclass(slots=True, kw_only=True)
class Open:
    name: str


def test_values_and_defaults() -> None:
    point = Point(1)

    assert (point.first, point.second, point.rest, point.both) == (1, "x", [], "1x")
    assert Point(1, "y", [2]) == Point(first=1, second="y", rest=[2], hidden=5)
    assert Point(1) != Point(2)
    assert point.rest is not Point(1).rest
    assert repr(point) == "Point(first=1, second='x', rest=[])"


def test_class_that_is_not_frozen_changes_and_has_no_hash() -> None:
    open_one = Open(name="x")
    open_one.name = "y"

    assert open_one == Open(name="y")
    with pytest.raises(TypeError, match="unhashable"):
        hash(open_one)


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'first'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        Named("x")  # type: ignore[call-arg]


def test_frozen_class_does_not_change_and_has_only_slots() -> None:
    named = Named(name="x")

    with pytest.raises(FrozenInstanceError):
        named.name = "y"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del named.name
    assert not hasattr(named, "__dict__")
    assert hash(named) == hash(Named(name="x"))


def test_fields_are_known_before_the_first_instance() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh(Base):
        more: int = 3

    assert [each.name for each in dataclasses.fields(Fresh)] == ["first", "more"]
    assert dataclasses.replace(Fresh(1), more=4) == Fresh(1, 4)
    match Fresh(1):
        case Fresh(first, more):
            assert (first, more) == (1, 3)


def test_the_methods_wait_for_the_first_instance() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        only: int

    assert "__eq__" not in vars(Fresh)
    Fresh(1)
    assert "__eq__" in vars(Fresh)


def test_threads_may_create_the_first_instance_together() -> None:
    for _ in range(20):

        @dataclass(frozen=True, slots=True)
        class Fresh:
            only: int

        together = threading.Barrier(4)
        built: list[Fresh] = []

        def build(kind: type[Fresh], built: list[Fresh], together: threading.Barrier) -> None:
            together.wait()
            built.append(kind(7))

        threads = [threading.Thread(target=build, args=(Fresh, built, together)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert built == [Fresh(7)] * 4


def modules() -> Iterator[ModuleType]:
    for package in (gantrymq.wire.headers, gantrymq.wire.bodies):
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield importlib.import_module(found.name)


def test_every_header_and_body_can_be_created() -> None:
    """An error in a lazily completed class would otherwise be found by the first peer that needs
    it."""
    made = [
        each
        for module in modules()
        for _, each in inspect.getmembers(module, inspect.isclass)
        if dataclasses.is_dataclass(each)
    ]

    assert len(made) > 100
    for each in made:
        assert "__dict__" not in dir(each)
        assert {one.name for one in dataclasses.fields(each)} == set(
            inspect.signature(each).parameters
        )
