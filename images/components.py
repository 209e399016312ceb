"""Defines the images that are built, and their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
DEFAULT_PREFIX = "gantrymq"  # registry and organisation, as in `registry.example.org/messaging`


@dataclass(frozen=True)
class Component:
    """One image; its Dockerfile is `images/<name>/Dockerfile`."""

    name: str
    parent: str = "base"  # the component that its Dockerfile starts from; "" for the Python image
    is_deployed: bool = True  # pods run it; other images are only built upon
    switch: str = ""  # NAME=1 in the environment selects it; "" means that it is always built

    @property
    def dockerfile(self) -> Path:
        return CHECKOUT / "images" / self.name / "Dockerfile"


# In build order: a parent comes before the images that start from it.
COMPONENTS = (
    Component("base", parent="", is_deployed=False),
    Component("broker"),
    Component("namesrv"),
    Component("operator"),
    # Half a gigabyte that most builds do not need. Its parent is not Gantry's base, so that a new
    # version of Gantry replaces its last layer and not the layers of Java and Spark.
    Component("spark", parent="", switch="SPARK"),
)


def wanted(environment: Mapping[str, str]) -> tuple[Component, ...]:
    """The components that the environment selects for this build."""
    return tuple(
        component
        for component in COMPONENTS
        if not component.switch or environment.get(component.switch) == "1"
    )


@dataclass(frozen=True)
class Release:
    """The values that the images of one build have in common."""

    prefix: str
    tag: str

    def reference(self, component: str) -> str:
        return f"{self.prefix}/{component}:{self.tag}"
