"""Checks a cluster for common problems from a client's side; each finding names its fix.

    servers   whether each answers, and whether the name servers agree
    brokers   disks, clocks, dispatch lag, addresses that clients cannot reach
    topics    queues that are missing, not writable, or on one broker only
    groups    lag without members, and members that cannot all consume

Invariant: a checkup changes nothing, and reports a part that it could not check as a finding.
"""

from __future__ import annotations

from gantrymq.client.core.admin.administration import Administration
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.admin.checkup.checkup_brokers import broker_findings
from gantrymq.client.core.admin.checkup.checkup_groups import group_findings
from gantrymq.client.core.admin.checkup.checkup_topics import topic_findings
from gantrymq.client.core.admin.checkup.findings import Finding, Level
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.wire.bodies.cluster import ClusterInfo


async def check_up(admin: Administration) -> list[Finding]:
    """Run all checks; the findings are sorted by level, worst first."""
    told = await admin.name_servers.clusters()
    found = [
        Finding(
            Level.ERROR,
            f"name server {address}",
            f"does not answer: {failure}",
            "start it, or take it out of NAMESRV_ADDR and of the brokers' namesrvAddr",
        )
        for address, failure in told.failed.items()
    ]
    found += _disagreements(dict(told.done))
    if told.done:
        found += await _below(admin, next(iter(told.done.values())))
    elif not told.failed:
        found.append(_no_name_server())
    return sorted(found, key=lambda each: (-each.level, each.subject))


def _no_name_server() -> Finding:
    return Finding(
        Level.ERROR, "name servers", "no address of any is given", "-n host:port, or NAMESRV_ADDR"
    )


async def _below(admin: Administration, info: ClusterInfo) -> list[Finding]:
    """Check the brokers, and the topics and groups of those that answer."""
    if not info.brokers:
        return [
            Finding(
                Level.ERROR,
                "clusters",
                "no broker is registered",
                "start one with namesrvAddr set to these name servers, and look at its log",
            )
        ]
    addresses = [each for broker in info.brokers.values() for each in broker.addresses.values()]
    figures = await on_each(addresses, admin.brokers.figures)
    found = _masterless(info)
    found += broker_findings(admin.ports.clock.wall_ms(), figures)
    masters = [
        broker.addresses[MASTER_ID]
        for broker in info.brokers.values()
        if broker.addresses.get(MASTER_ID) in figures.done
    ]
    found += await topic_findings(admin, info, masters)
    found += await group_findings(admin)
    return found


def _masterless(info: ClusterInfo) -> list[Finding]:
    return [
        Finding(
            Level.ERROR,
            f"broker {name}",
            "has no master: nothing can be sent to it",
            "start the broker with brokerId=0 and this brokerName",
        )
        for name, broker in sorted(info.brokers.items())
        if MASTER_ID not in broker.addresses
    ]


def _disagreements(told: dict[str, ClusterInfo]) -> list[Finding]:
    """Find brokers that only some name servers know, or know with other addresses."""
    known = {
        address: {
            (name, number, place)
            for name, broker in info.brokers.items()
            for number, place in broker.addresses.items()
        }
        for address, info in told.items()
    }
    every = set().union(*known.values())
    return [
        Finding(
            Level.ERROR,
            f"name server {address}",
            f"does not know broker {name} ({number}) at {place}, which another one knows",
            f"set namesrvAddr of the broker at {place} to all name servers",
        )
        for address, has in sorted(known.items())
        for name, number, place in sorted(every - has)
    ]
