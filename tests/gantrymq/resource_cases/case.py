"""One case: a resource, and whether the API server and the operator accept it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from gantrymq.operator.resources.names import API_VERSION

Json = dict[str, Any]


@final
@dataclass(frozen=True, slots=True)
class Case:
    """A resource that is created, or changed from `before`."""

    label: str
    kind: str
    spec: Json
    refused: str = ""
    """The field that the refusal is about; empty when the resource is accepted."""
    words: str = ""
    """Words of the refusal."""
    before: Json | None = None
    """The spec before the change, which is a merge patch."""
    name: str = "case"
    by_schema: bool = False
    """Whether the refusal is one of types and bounds, whose words are the API server's own."""

    @property
    def is_accepted(self) -> bool:
        """Whether the resource is accepted."""
        return not self.refused

    def resource(self, spec: Json | None = None) -> Json:
        """The resource with the new spec, or with another one."""
        return {
            "apiVersion": API_VERSION,
            "kind": self.kind,
            "metadata": {"name": self.name},
            "spec": self.spec if spec is None else spec,
        }

    def __str__(self) -> str:
        return f"{self.kind}-{self.label}"


@final
@dataclass(frozen=True, slots=True)
class Cases:
    """Makes cases of one kind; a path such as `storage.size` is below `spec`."""

    kind: str
    least: Json
    """The fields without which no resource is accepted."""

    def good(
        self, path: str, value: object, *, also: Json | None = None, before: Json | None = None,
        name: str = "case",
    ) -> Case:  # fmt: skip
        """A value that is accepted."""
        return Case(
            _label(path, value), self.kind, self._spec(path, value, also),
            before=self._before(before), name=name,
        )  # fmt: skip

    def bad(
        self, path: str, value: object, words: str, *, at: str | None = None,
        also: Json | None = None, before: Json | None = None, name: str = "case",
    ) -> Case:  # fmt: skip
        """A value that breaks a rule; `at` is the field of the refusal if it is not the path."""
        return Case(
            _label(path, value), self.kind, self._spec(path, value, also),
            f"spec.{path}" if at is None else at, words, self._before(before), name,
        )  # fmt: skip

    def outside(
        self, path: str, value: object, words: str, *, at: str = "", also: Json | None = None
    ) -> Case:
        """A value of another type or outside of its bounds; `at` goes on from the path."""
        return Case(
            _label(path, value), self.kind, self._spec(path, value, also), f"spec.{path}{at}",
            words, by_schema=True,
        )  # fmt: skip

    def _spec(self, path: str, value: object, also: Json | None) -> Json:
        nested = value
        for key in reversed(path.split(".") if path else []):
            nested = {key: nested}
        assert isinstance(nested, dict)
        return {**self.least, **(also or {}), **nested}

    def _before(self, before: Json | None) -> Json | None:
        return None if before is None else self.least | before


def _label(path: str, value: object) -> str:
    return f"{path}={str(value)[:40]!r}"
