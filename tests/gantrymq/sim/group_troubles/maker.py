"""Makes the troubles of a history: one after the other, each for a while, and then calm.

From `BEGIN_SECONDS` to `CALM_SECONDS` something goes wrong again and again; then all of it is over,
and the group has until the end to become whole again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, final

from gantrymq.sim.checks.group_checks import Checks
from gantrymq.sim.group.group_callers import Directory
from gantrymq.sim.group.group_world import World
from gantrymq.sim.group_troubles.plan import Plan
from gantrymq.sim.nodes.group_api import Health, Latency
from gantrymq.sim.nodes.group_lease_store import LeaseStore
from gantrymq.sim.nodes.group_network import Network, Weather
from gantrymq.sim.nodes.group_node import Node

BEGIN_SECONDS: Final = 4.0
CALM_SECONDS: Final = 38.0

Do = Callable[[], None]


@final
class Troubles:
    """Makes the troubles of one history."""

    def __init__(
        self,
        world: World,
        network: Network,
        leases: LeaseStore,
        nodes: Mapping[int, Node],
        checks: Checks,
        clients: list[int],
        plan: Plan,
        *,
        kinds: Mapping[str, Callable[[Troubles], None]],
        directory: Directory,
        twin: Callable[[int], Node],
    ) -> None:
        """`twin` makes a second machine that claims a seat."""
        self.api = leases.api
        self.checks = checks
        self.clients = clients
        self.directory = directory
        self.leases = leases
        self.network = network
        self.nodes = nodes
        self.plan = plan
        self.twin = twin
        self.random = world.random("troubles")
        self.world = world
        self._is_calm = False
        self._ends: dict[int, Do] = {}
        self._kinds = kinds
        self._number = 0

    def begin(self) -> None:
        self.network.weather = replace(self.plan.weather)
        self.api.lost_answers = self.plan.lost_answers
        for node in self.nodes.values():
            node.pace.stalls = self.plan.stalls
        if self.plan.weights:
            self.world.after(BEGIN_SECONDS, self._next)
        self.world.after(CALM_SECONDS, self.calm)

    def _next(self) -> None:
        if self._is_calm:
            return
        weights = self.plan.weights
        kind = self.random.choices(list(weights), list(weights.values()))[0]
        self.world.tally[f"trouble: {kind}"] += 1
        self._kinds[kind](self)
        self.world.after(self.random.expovariate(1.0 / self.plan.pause_between), self._next)

    def calm(self) -> None:
        """From now on nothing is wrong any more."""
        self.world.tell("calm")
        self._is_calm = True
        for end in list(self._ends.values()):
            end()
        self._ends.clear()
        self.network.weather = Weather()
        self.api.lost_answers = 0.0
        self.api.health = Health.WELL
        self.api.latency = Latency()
        self.api.ambushes.clear()
        if self.leases.lease is not None:  # an earlier copy of it may have had requests
            self.leases.fence(frozenset())
            self.leases.change_requests(
                lambda operator_requests: replace(operator_requests, allows_unclean=False)
            )
        for node in self.nodes.values():
            node.pace.stalls = 0.0
            node.disk.crash_at = None
            node.place.wake()

    # ------------------------------------------------------------------ what they are made of

    @property
    def is_calm(self) -> bool:
        return self._is_calm

    @property
    def running(self) -> frozenset[int]:
        """Members that have a process now."""
        return frozenset(each for each, node in self.nodes.items() if node.process is not None)

    def spare_nodes(self) -> list[Node]:
        """Members whose disk may go, and nothing is lost with it."""
        return [
            node
            for node in self.nodes.values()
            if node.volume.key == node.number and self.checks.is_spare(node.number, self.running)
        ]

    def any_node(self) -> Node:
        """Often the master."""
        leaders = [node for node in self.nodes.values() if node.process and node.process.epoch]
        if leaders and self.random.random() < 0.6:
            return leaders[-1]
        return self.random.choice(list(self.nodes.values()))

    def a_while(self) -> float:
        """Seconds: mostly around the durations that the rules know."""
        return self.random.choice([0.3, 1.0, 2.0, 3.5, 5.0, 9.0]) * self.random.uniform(0.5, 1.5)

    def lasts(self, what: str, end: Do) -> None:
        """It began now, and ends by this."""
        seconds = self.a_while()
        self.world.tell(f"{what}, for {seconds:.2f} s")
        self._number += 1
        number = self._number
        self._ends[number] = end

        def over() -> None:
            if self._ends.pop(number, None) is not None:
                self.world.tell(f"over: {what}")
                end()

        self.world.after(seconds, over)

    def cut(self, what: str, ways: list[tuple[int, int]]) -> None:
        """These ways are closed for a while."""
        for here, there in ways:
            self.network.cut(here, there)

        def heal() -> None:
            for here, there in ways:
                self.network.heal(here, there)

        self.lasts(what, heal)
