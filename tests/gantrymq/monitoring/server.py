"""Runs a real Prometheus that scrapes targets and evaluates rules once a second."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, final

import yaml

from gantrymq.interop.child import Child, wait_until
from gantrymq.interop.ports import free_port
from gantrymq.monitoring.programs import programs

INTERVAL_SECONDS: Final = 1
START_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 20.0


class QueryError(Exception):
    """Prometheus does not understand a query."""


class Sample(NamedTuple):
    """The value of a series at one time."""

    at: float
    value: float


@final
@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer."""

    labels: Mapping[str, str]
    value: float


@final
class Prometheus:
    """A Prometheus process with a folder of its own.

    `targets` has the addresses of each job. `scrapes` has further scrape configurations, which
    discover their targets.
    """

    def __init__(
        self,
        folder: Path,
        targets: Mapping[str, Sequence[str]],
        rules: str = "",
        *,
        interval_seconds: int = INTERVAL_SECONDS,
        scrapes: Sequence[Mapping[str, Any]] = (),  # Any: values of YAML
    ) -> None:
        self._folder = folder
        self._child: Child | None = None
        self.address = f"127.0.0.1:{free_port()}"
        (folder / "rules.yaml").write_text(rules or "groups: []\n")
        configuration = _configuration(targets, f"{interval_seconds}s", scrapes)
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(configuration))

    def __enter__(self) -> Self:
        command = [
            programs().prometheus,
            f"--config.file={self._folder}/prometheus.yaml",
            f"--storage.tsdb.path={self._folder}/data",
            f"--web.listen-address={self.address}",
            "--log.level=warn",
        ]
        self._child = Child("Prometheus", command, self._folder)
        self._child.wait_until(self._is_ready, "Prometheus is ready", START_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._child is not None:
            self._child.stop()

    def query(self, expression: str) -> list[Series]:
        """The answer to an instant query. QueryError says what is wrong with the expression."""
        result = self._ask("query", query=expression)["result"]
        if isinstance(result, list) and result and not isinstance(result[0], dict):
            return [Series({}, float(result[1]))]  # a scalar
        return [Series(each["metric"], float(each["value"][1])) for each in result]

    def query_range(
        self, expression: str, begin: float, end: float, step_seconds: float
    ) -> list[tuple[Mapping[str, str], list[tuple[float, float]]]]:
        """The series of a range query, each with its labels."""
        found = self._ask(
            "query_range", query=expression, start=str(begin), end=str(end), step=str(step_seconds)
        )
        return [
            (each["metric"], [(float(at), float(value)) for at, value in each["values"]])
            for each in found["result"]
        ]

    def samples(
        self, selector: str, seconds: float
    ) -> list[tuple[Mapping[str, str], list[Sample]]]:
        """The samples of each series that were scraped in the last seconds, oldest first."""
        found = self._ask("query", query=f"{selector}[{seconds:g}s]")["result"]
        return [
            (each["metric"], [Sample(float(at), float(value)) for at, value in each["values"]])
            for each in found
        ]

    def wait_for(self, expression: str, seconds: float) -> list[Series]:
        """The first answer that is not empty."""
        wait_until(lambda: bool(self.query(expression)), expression, seconds)
        return self.query(expression)

    def wait_until_gone(self, expression: str, seconds: float) -> None:
        wait_until(lambda: not self.query(expression), f"no more: {expression}", seconds)

    def alerts(self) -> list[dict[str, Any]]:  # Any: values of JSON
        """Alerts that are pending or firing, with their labels and annotations."""
        found: list[dict[str, Any]] = self._ask("alerts")["alerts"]
        return found

    def rules(self) -> list[dict[str, Any]]:
        """All rules, each with the health of its last evaluation."""
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://{self.address}/-/ready", timeout=ANSWER_SECONDS
            ) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _ask(self, what: str, **arguments: str) -> dict[str, Any]:
        url = f"http://{self.address}/api/v1/{what}"
        if arguments:
            url += f"?{urllib.parse.urlencode(arguments)}"
        try:
            with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:  # noqa: S310
                data: dict[str, Any] = json.load(answer)["data"]
                return data
        except urllib.error.HTTPError as error:
            raise QueryError(f"{arguments}: {error.read().decode()}") from None


def _configuration(
    targets: Mapping[str, Sequence[str]], interval: str, scrapes: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    return {
        "global": {"scrape_interval": interval, "evaluation_interval": interval},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [
            *(
                {"job_name": job, "static_configs": [{"targets": list(addresses)}]}
                for job, addresses in targets.items()
            ),
            *scrapes,
        ],
    }
