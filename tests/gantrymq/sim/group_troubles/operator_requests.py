"""What an operator wants of a group, at bad moments, and with typos."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gantrymq.sim.group_troubles.maker import Troubles
from gantrymq.sim.nodes.group_lease_store import LeaseStore


def switch(troubles: Troubles) -> None:
    number = troubles.random.choice(sorted(troubles.nodes))
    troubles.leases.change_requests(
        lambda operator_requests: replace(
            operator_requests, switch_to=number, number=operator_requests.number + 1
        )
    )


def prefer(troubles: Troubles) -> None:
    number = troubles.random.choice(sorted(troubles.nodes))
    troubles.leases.change_requests(
        lambda operator_requests: replace(operator_requests, preferred=number)
    )


def fence(troubles: Troubles) -> None:
    node = troubles.any_node()
    troubles.leases.fence(frozenset({node.number}))
    troubles.lasts(f"{node.place.name} is fenced", partial(troubles.leases.fence, frozenset[int]()))


def allow_loss(troubles: Troubles) -> None:
    """For a while, or until all is calm: an unclean election takes longer than most troubles."""
    troubles.leases.change_requests(
        lambda operator_requests: replace(operator_requests, allows_unclean=True)
    )
    if troubles.random.random() < 0.5:
        troubles.lasts("losses are allowed", partial(_forbid_loss, troubles.leases))


def _forbid_loss(leases: LeaseStore) -> None:
    leases.change_requests(
        lambda operator_requests: replace(operator_requests, allows_unclean=False)
    )


def typo(troubles: Troubles) -> None:
    """A request that cannot be read, until an operator corrects it."""
    name, text = troubles.random.choice(
        [
            ("preferred", "broker-2"),
            ("fenced", "one"),
            ("fenced", "1;2"),
            ("switch-to", "-1"),
            ("switch-number", "9" * 18),
            ("allow-unclean", "maybe"),
        ]
    )
    troubles.world.tally["typos in operator requests"] += 1
    troubles.leases.annotate("an operator", {name: text})
    troubles.lasts(f"a request says {name}={text}", partial(_correct, troubles.leases, name))


def _correct(leases: LeaseStore, name: str) -> None:
    leases.annotate("an operator", {name: ""})
