"""Defines `gantry report`, which collects the state of a cluster in one JSON file.

The file is for a helper without access to the cluster. Reports are made when a part is broken, so
the file has the reason in place of the data of a server that does not answer. It contains no
messages and no secrets. With --anonymous it contains no names of the owner's (redaction.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from gantrymq.base.errors import GantryError
from gantrymq.cli.cluster.json_file import save
from gantrymq.cli.cluster.redaction import Pseudonyms, without_secrets
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.option import Option, Options, flag
from gantrymq.cli.frame.page import Page
from gantrymq.client.core.admin.asking import Each, on_each
from gantrymq.client.core.admin.checkup.checkup import check_up
from gantrymq.wire.bodies.cluster import ClusterInfo
from gantrymq.wire.bodies.consuming.queue_stats import ConsumeStats
from gantrymq.wire.jsonvalue import Json, JsonObject
from gantrymq.wire.version import OWN_VERSION, version_name

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.client.core.flow.flow_steps import Flow

T = TypeVar("T")

_FOLDER: Final = Option("f", "filePath", "into this folder (the current one)")
_ANONYMOUS: Final = flag("a", "anonymous", "replace names of topics, groups, brokers and hosts")


async def report(admin: Administration, options: Options) -> Page:
    info = await _cluster_info(admin)
    addresses = [each for broker in info.brokers.values() for each in broker.addresses.values()]
    topics = await _asked(admin.topics.names())
    groups = await _asked(admin.groups.names())
    wall_ms = admin.ports.clock.wall_ms()
    content: JsonObject = {
        "about": {
            "madeAtMs": wall_ms,
            "tool": f"gantry report, {version_name(OWN_VERSION)}",
            "nameServers": list(admin.name_servers.addresses),
        },
        "findings": await _findings(admin),
        "clusters": {name: _listed(brokers) for name, brokers in info.clusters.items()},
        "nameServers": _each(await admin.name_servers.settings(), without_secrets),
        "brokers": await _brokers(admin, addresses),
        "topics": {"count": len(topics or ()), "names": _listed(sorted(topics or ()))},
        "groups": await _groups(admin, groups or ()),
    }
    if options.is_set("anonymous"):
        names = {
            "topic": topics or (),
            "group": groups or (),
            "cluster": info.clusters,
            "broker": info.brokers,
        }
        hidden = Pseudonyms(names).applied_to(content)
        assert isinstance(hidden, dict)
        content = hidden
    path = await save(options, ".", f"gantry-report-{wall_ms}.json", content)
    shown = Page()
    shown.say("file", f"wrote {path}: look through it before you pass it on", path)
    return shown


async def _cluster_info(admin: Administration) -> ClusterInfo:
    """Return the brokers that the first answering name server knows.

    Raises the first failure if none answers.
    """
    answers = await admin.name_servers.clusters()
    if not answers.done:
        answers.all()
    return next(iter(answers.done.values()), ClusterInfo())


async def _findings(admin: Administration) -> list[Json]:
    found = await check_up(admin)
    return [
        {"level": each.level.name, "subject": each.subject, "what": each.what, "fix": each.fix}
        for each in found
    ]


async def _brokers(admin: Administration, addresses: list[str]) -> JsonObject:
    """The settings, figures and replication of each broker."""
    brokers = admin.brokers
    settings = await on_each(addresses, brokers.settings, admin.pace)
    figures = await on_each(addresses, brokers.figures, admin.pace)
    replication = await on_each(addresses, brokers.replication, admin.pace)
    return {
        "settings": _each(settings, without_secrets),
        "figures": _each(figures, _sorted),
        "replication": _each(replication, lambda status: status.to_json()),
    }


async def _groups(admin: Administration, groups: tuple[str, ...] | list[str]) -> JsonObject:
    """The lag of each group, summed over its queues."""
    return _each(await on_each(groups, admin.groups.progress, admin.pace), _progress)


def _progress(stats: ConsumeStats) -> Json:
    queues = stats.queues.values()
    return {
        "queues": len(stats.queues),
        "lag": sum(each.broker_offset - each.consumer_offset for each in queues),
        "tps": stats.consume_tps,
    }


def _listed(names: Iterable[str]) -> Json:
    return list(names)


def _sorted(values: Mapping[str, str]) -> Json:
    return dict(sorted(values.items()))


def _each(answers: Each[T], shown: Callable[[T], Json]) -> JsonObject:
    """The answer of each server, or the reason why there is none."""
    done: JsonObject = {name: shown(value) for name, value in answers.done.items()}
    failed: JsonObject = {name: {"failed": str(error)} for name, error in answers.failed.items()}
    return done | failed


async def _asked(flow: Flow[T]) -> T | None:
    """Return the result; None if the query fails, because the findings of the report say why."""
    try:
        return await flow
    except (GantryError, OSError):
        return None


COMMANDS: Final = {"report": Command("report", (_FOLDER, _ANONYMOUS), report)}
