"""Defines the type of a command, and how commands select brokers and load lists from files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.option import Option, Options
from gantrymq.cli.frame.page import Page
from gantrymq.client.core.flow.flow_steps import LoadFile
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, list_of

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.client.core.flow.flow_steps import Flow

PRODUCER_GROUP: Final = "gantry-tools"
"""The producer group of all commands. It sends no transactions."""

Action: TypeAlias = "Callable[[Administration, Options], Flow[Page]]"


@dataclass(frozen=True, slots=True)
class Command:
    """A command that makes one page: its options, and the flow that makes the page. Its description
    is in the catalog."""

    name: str
    options: tuple[Option, ...]
    run: Action

    @property
    def forms(self) -> tuple[str, ...]:
        """The values of --output, the default first."""
        return ("table", "json")


async def selected_brokers(
    admin: Administration,
    options: Options,
    *,
    cluster_option: str = "clusterName",
    with_slaves: bool = False,
) -> list[str]:
    """Return the addresses that -b or -c select: one broker, or every master of a cluster, with
    its slaves if `with_slaves`.

    Raises UsageError if neither is given.
    """
    broker, cluster = options.maybe("brokerAddr"), options.maybe(cluster_option)
    if broker is not None:
        return [broker]
    if cluster is None:
        raise UsageError(
            f"the target is missing: give -b host:port for one broker, or -c <{cluster_option}> for"
            " all masters of a cluster (gantry clusterList shows both)"
        )
    clusters = admin.clusters
    return await (clusters.members(cluster) if with_slaves else clusters.masters(cluster))


async def load_list(file: str) -> list[Json]:
    """Load the items of a JSON file that holds a list."""
    content = await LoadFile(file)
    if content is None:
        raise CommandError(f"the file path {file} does not exists")
    return list_of(javajson.loads(content), file)
