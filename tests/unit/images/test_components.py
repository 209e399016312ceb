"""Tests the list of images against the Dockerfiles and the names that users see."""

from __future__ import annotations

import re

import pytest

from images.components import CHECKOUT, COMPONENTS, Component, Release, wanted
from images.engine import PUBLIC_BASE

NAMES = [component.name for component in COMPONENTS]


def test_a_parent_is_built_before_the_images_that_begin_from_it() -> None:
    for component in COMPONENTS:
        assert component.parent in ["", *NAMES[: NAMES.index(component.name)]]


def test_every_dockerfile_is_a_component() -> None:
    found = {path.parent.name for path in (CHECKOUT / "images").glob("*/Dockerfile")}
    assert found == set(NAMES)


@pytest.mark.parametrize("component", COMPONENTS, ids=NAMES)
def test_a_dockerfile_takes_its_base_from_outside(component: Component) -> None:
    text = component.dockerfile.read_text()
    default = re.search(r"^ARG BASE=(\S+)\nFROM \$\{BASE\}$", text, re.MULTILINE)
    assert default is not None
    assert default[1] == (f"gantrymq/{component.parent}" if component.parent else PUBLIC_BASE)


def test_the_reference_has_registry_component_and_tag() -> None:
    release = Release(prefix="registry.example.org/mq", tag="1.0-abc")
    assert release.reference("broker") == "registry.example.org/mq/broker:1.0-abc"


def test_the_image_of_spark_is_built_when_it_is_asked_for() -> None:
    usual = ["base", "broker", "namesrv", "operator"]
    assert [component.name for component in wanted({})] == usual
    assert [component.name for component in wanted({"SPARK": "0"})] == usual
    assert [component.name for component in wanted({"SPARK": "1"})] == [*usual, "spark"]
