"""Selects the brokers that a command about users, policies or quotas asks, and shows its changes.

Each broker keeps its own users and policies, slaves as well. Followers of a group that elects its
master are the exception: they refuse such changes and copy the tables of their master.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from gantrymq.acl.rights.refusal import MASTER_DECIDES
from gantrymq.cli.frame.command import selected_brokers
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.option import Option, Options
from gantrymq.cli.frame.page import Page
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.errors import BrokerError

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.client.core.flow.flow_steps import Flow

AT_BROKERS: Final = (
    Option("b", "brokerAddr", "at this broker"),
    Option("c", "clusterName", "at every broker of this cluster"),
)
AT_MASTERS: Final = (
    Option("b", "brokerAddr", "at this broker"),
    Option("c", "clusterName", "at every master of this cluster"),
)


async def brokers(
    admin: Administration, options: Options, *, with_slaves: bool = False
) -> list[str]:
    """Return the brokers that -b or -c select; without both, those of the only cluster."""
    if options.maybe("brokerAddr") is not None or options.maybe("clusterName") is not None:
        return await selected_brokers(admin, options, with_slaves=with_slaves)
    names = sorted((await admin.clusters.info()).clusters)
    if len(names) != 1:
        raise UsageError(
            "the target is missing: give -b host:port for one broker, or -c <clusterName>; the"
            f" name servers know these clusters: {', '.join(names) or 'none'}"
        )
    clusters = admin.clusters
    return await (clusters.members(names[0]) if with_slaves else clusters.masters(names[0]))


async def masters(admin: Administration, options: Options) -> list[str]:
    """Return the masters that a command reads from. Raises CommandError if there is none."""
    addresses = await selected_brokers(admin, options)
    if not addresses:
        raise CommandError(
            "command failed, there is no broker in cluster."
            f" No master of {options.maybe('clusterName')} is registered; see gantry clusterList"
        )
    return addresses


async def changed(addresses: Sequence[str], change: Callable[[str], Flow[None]], text: str) -> Page:
    """Make the change at each broker, and show `text % address` for each that made it."""
    answers = await on_each(addresses, change)
    shown = Page()
    for address in answers.done:
        shown.say("done", text % address, address)
    for address, failure in answers.failed.items():
        if _follows(failure, answers.done):
            follows = f"{address} takes users and policies from its master."
            shown.say("followers", follows, address)
        else:
            shown.failures.append(failure)
    return shown


def _follows(failure: Exception, changed_at: Iterable[str]) -> bool:
    """Whether the broker refused as a follower of a master that has made the change."""
    if not isinstance(failure, BrokerError) or not failure.remark.startswith(MASTER_DECIDES):
        return False
    return any(failure.remark.endswith(f" is {master}") for master in changed_at)
