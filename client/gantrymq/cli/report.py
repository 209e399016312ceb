"""`gantry report`: what a person who helps from afar needs to know of a cluster, in one JSON file.

What could not be asked for stands in the file with the reason: a report is made when something is
broken. Messages are not in it; secrets are hidden, and names on demand (redaction.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from gantrymq.base.errors import GantryError
from gantrymq.cli.command import Command
from gantrymq.cli.failures import CommandError
from gantrymq.cli.option import Option, Options, flag
from gantrymq.cli.page import Page
from gantrymq.cli.redaction import Pseudonyms, without_secrets
from gantrymq.client.core.admin.asking import Each, on_each
from gantrymq.client.core.admin.checkup import check_up
from gantrymq.client.core.steps import SaveFile
from gantrymq.wire import javajson
from gantrymq.wire.bodies.cluster import ClusterInfo
from gantrymq.wire.bodies.queue_stats import ConsumeStats
from gantrymq.wire.jsonvalue import Json, JsonObject
from gantrymq.wire.version import OWN_VERSION, version_name

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.client.core.steps import Flow

T = TypeVar("T")

_FOLDER: Final = Option("f", "filePath", "into this folder (the current one)")
_ANONYMOUS: Final = flag("a", "anonymous", "replace names of topics, groups, brokers and hosts")


async def report(admin: Administration, options: Options) -> Page:
    info = await _cluster_info(admin)
    addresses = [each for broker in info.brokers.values() for each in broker.addresses.values()]
    topics = await _asked(admin.topics.names())
    groups = await _asked(admin.groups.names())
    wall_ms = admin.ports.clock.wall_ms()
    told: JsonObject = {
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
        hidden = Pseudonyms(names).applied_to(told)
        assert isinstance(hidden, dict)
        told = hidden
    return await _saved(options, told, wall_ms)


async def _cluster_info(admin: Administration) -> ClusterInfo:
    """As the first name server that answers knows it; raises why where none does."""
    told = await admin.name_servers.clusters()
    if not told.done:
        told.all()
    return next(iter(told.done.values()), ClusterInfo())


async def _findings(admin: Administration) -> list[Json]:
    found = await check_up(admin)
    return [
        {"level": each.level.name, "subject": each.subject, "what": each.what, "fix": each.fix}
        for each in found
    ]


async def _brokers(admin: Administration, addresses: list[str]) -> JsonObject:
    """Settings, figures and replication of each."""
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
    """How far each group is, in sum."""
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


def _each(told: Each[T], shown: Callable[[T], Json]) -> JsonObject:
    """What was told by each, or why it was not."""
    done: JsonObject = {name: shown(value) for name, value in told.done.items()}
    failed: JsonObject = {name: {"failed": str(error)} for name, error in told.failed.items()}
    return done | failed


async def _asked(flow: Flow[T]) -> T | None:
    """None where it fails: the findings say why."""
    try:
        return await flow
    except (GantryError, OSError):
        return None


async def _saved(options: Options, told: JsonObject, wall_ms: int) -> Page:
    path = f"{options.maybe('filePath') or '.'}/gantry-report-{wall_ms}.json"
    try:
        await SaveFile(path, javajson.dumps_pretty(told))
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error}; -f names another folder") from error
    shown = Page()
    shown.say("file", f"wrote {path}: look through it before you pass it on", path)
    return shown


COMMANDS: Final = {"report": Command("report", (_FOLDER, _ANONYMOUS), report)}
