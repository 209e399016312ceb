"""Which brokers a command about users, policies or quotas asks, and what it shows of changes.

Each broker keeps users and policies of its own, slaves as well. Members of a group that elects its
master are the exception: they refuse such changes and take what their master has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from gantrymq.acl.rights.refusal import MASTER_DECIDES
from gantrymq.cli.frame.command import chosen
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
    """The addresses that -b or -c stand for; without both, the brokers of the only cluster."""
    if options.maybe("brokerAddr") is not None or options.maybe("clusterName") is not None:
        return await chosen(admin, options, with_slaves=with_slaves)
    names = sorted((await admin.clusters.info()).clusters)
    if len(names) != 1:
        raise UsageError(
            "say where: -b host:port for one broker, or -c <clusterName>; the name servers know"
            f" the clusters {', '.join(names) or 'none'}"
        )
    clusters = admin.clusters
    return await (clusters.members(names[0]) if with_slaves else clusters.masters(names[0]))


async def masters(admin: Administration, options: Options) -> list[str]:
    """The same for a command that reads; CommandError where there is no master to ask."""
    addresses = await chosen(admin, options)
    if not addresses:
        raise CommandError(
            "command failed, there is no broker in cluster."
            f" No master of {options.maybe('clusterName')} is registered; see gantry clusterList"
        )
    return addresses


async def changed(addresses: Sequence[str], work: Callable[[str], Flow[None]], text: str) -> Page:
    """Do the work at each broker, and say `text % address` of those that did it."""
    told = await on_each(addresses, work)
    shown = Page()
    for address in told.done:
        shown.say("done", text % address, address)
    for address, failure in told.failed.items():
        if _follows(failure, told.done):
            follows = f"{address} takes users and policies from its master."
            shown.say("followers", follows, address)
        else:
            shown.failures.append(failure)
    return shown


def _follows(failure: Exception, changed_at: Iterable[str]) -> bool:
    """Whether a broker refused because it takes the change from a master that has made it."""
    if not isinstance(failure, BrokerError) or not failure.remark.startswith(MASTER_DECIDES):
        return False
    return any(failure.remark.endswith(f" is {master}") for master in changed_at)
