"""Reads a broker's page of metrics, Java's or Gantry's, so that the two can be compared."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.request import urlopen

SAMPLE: Final = re.compile(r"([a-z0-9_]+)(?:\{(.*)\})? (\S+)(?: \d+)?")
LABEL: Final = re.compile(r'([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"')
PARTS: Final = ("_bucket", "_sum", "_count")

# The label that names the broker, and the one that OpenTelemetry adds to each sample.
NOT_COMPARED: Final = frozenset({"node_id", "otel_scope_name"})

Labels = frozenset[tuple[str, str]]


@dataclass
class Metric:
    """One metric of a page. The label `part` says which part of a histogram a value is."""

    kind: str = ""
    values: dict[Labels, float] = field(default_factory=dict)

    @property
    def label_names(self) -> frozenset[frozenset[str]]:
        """The names of labels that series have."""
        return frozenset(frozenset(name for name, _ in labels) for labels in self.values)

    def where(self, **labels: str) -> "Metric":
        """The series with these labels."""
        wanted = set(labels.items())
        kept = {each: value for each, value in self.values.items() if wanted <= each}
        return Metric(self.kind, kept)

    def without(self, **labels: str) -> "Metric":
        """The series without these labels."""
        left_out = set(labels.items())
        kept = {each: value for each, value in self.values.items() if not left_out & each}
        return Metric(self.kind, kept)


@dataclass(frozen=True)
class Page:
    """All metrics of a page, by name."""

    metrics: Mapping[str, Metric]

    @classmethod
    def read(cls, port: int, path: str = "/metrics") -> Self:
        """The page of a broker at this moment."""
        with urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return cls(_parsed(answer.read().decode()))

    def __getitem__(self, name: str) -> Metric:
        return self.metrics[name]


def _parsed(text: str) -> dict[str, Metric]:
    kinds: dict[str, str] = {}
    metrics: dict[str, Metric] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:4]
            kinds[name] = kind
        elif not line.startswith("#"):
            _add(metrics, kinds, line)
    return metrics


def _add(metrics: dict[str, Metric], kinds: Mapping[str, str], line: str) -> None:
    found = SAMPLE.fullmatch(line)
    assert found is not None, line
    name, told, value = found.groups()
    kind = _kind_of(name, kinds)
    labels = {pair for pair in LABEL.findall(told or "") if pair[0] not in NOT_COMPARED}
    if kind == "histogram":
        part = next(each for each in PARTS if name.endswith(each))
        name = name.removesuffix(part)
        labels.add(("part", part))
    metric = metrics.setdefault(name, Metric(kind))
    metric.values[frozenset(labels)] = float(value)


def _kind_of(name: str, kinds: Mapping[str, str]) -> str:
    """The type of a metric; Java's page omits units from the names in its lines about types."""
    said = [each for each in kinds if name.startswith(each)]
    return kinds[max(said, key=len)] if said else ""
