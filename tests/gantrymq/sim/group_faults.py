"""What befalls a group: rates and moments, all of them from the seed.

From `BEGIN_SECONDS` to `CALM_SECONDS` one trouble follows the other, each for a while; then all of
them are over, and the group has until the end to become whole again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Final, final

from gantrymq.base.disk import DiskError
from gantrymq.ha import kept
from gantrymq.sim.group_checks import Checks
from gantrymq.sim.group_lease_store import NUMBER as LEASES
from gantrymq.sim.group_lease_store import Health, LeaseStore
from gantrymq.sim.group_network import Network, Weather
from gantrymq.sim.group_node import QUIET, Node
from gantrymq.sim.group_process import Pace
from gantrymq.sim.group_world import DRIFT_MAX, World
from gantrymq.testing.faulty_disk import Faults

BEGIN_SECONDS: Final = 4.0
CALM_SECONDS: Final = 38.0

Do = Callable[[], None]


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """Of one history."""

    members: int
    flushes: bool
    drift: float
    pause_between: float
    """Seconds between two troubles, on average."""
    weights: Mapping[str, float]
    """How often which trouble; some do not happen at all in a history, or none does."""
    weather: Weather
    lost_answers: float
    stalls: float
    waits: bool
    """Whether messages wait for members."""
    min_in_sync: int
    renews: bool = False
    """Whether topics are deleted and made again."""


def plan_of(random: Random) -> Plan:
    """Drawn from the seed."""
    kinds = sorted(TROUBLES)
    weights = {kind: random.random() ** 2 if random.random() < 0.6 else 0.0 for kind in kinds}
    weights[random.choice(kinds)] += 1.0
    if random.random() < 0.85:
        weights["allow loss"] = 0.0
    weather = Weather(
        lost=random.choice([0.0, 0.0, 0.005, 0.05]),
        twice=random.choice([0.0, 0.01, 0.1]),
        slow=random.choice([0.0, 0.01, 0.1]),
        slow_seconds=random.choice([0.02, 0.3, 1.5]),
        torn=random.choice([0.0, 0.2, 0.8]),
        latency=random.choice([0.0002, 0.001, 0.01]),
    )
    return Plan(
        members=random.choice([2, 3, 3, 3, 3, 3, 4, 5]),
        flushes=random.random() < 0.5,
        drift=random.choice([0.0, 0.001, DRIFT_MAX]),
        pause_between=random.choice([1.0, 2.0, 4.0, 8.0]),
        weights=weights,
        weather=weather,
        lost_answers=random.choice([0.0, 0.01, 0.2]),
        stalls=random.choice([0.0, 0.0, 0.001, 0.01]),
        waits=random.random() < 0.9,
        min_in_sync=random.choice([1, 2, 2]),
    )


@final
class Troubles:
    """The one who makes them."""

    def __init__(
        self,
        world: World,
        network: Network,
        leases: LeaseStore,
        nodes: Mapping[int, Node],
        checks: Checks,
        clients: list[int],
        plan: Plan,
    ) -> None:
        self.checks = checks
        self.clients = clients
        self.leases = leases
        self.network = network
        self.nodes = nodes
        self.plan = plan
        self.random = world.random("troubles")
        self.world = world
        self._is_calm = False
        self._ends: dict[int, Do] = {}
        self._number = 0

    def begin(self) -> None:
        self.network.weather = replace(self.plan.weather)
        self.leases.lost_answers = self.plan.lost_answers
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
        TROUBLES[kind](self)
        self.world.after(self.random.expovariate(1.0 / self.plan.pause_between), self._next)

    def calm(self) -> None:
        """From now on nothing is wrong any more."""
        self.world.tell("calm")
        self._is_calm = True
        for end in list(self._ends.values()):
            end()
        self._ends.clear()
        self.network.weather = Weather()
        self.leases.lost_answers = 0.0
        self.leases.health = Health.WELL
        self.leases.ambushes.clear()
        if self.leases.lease is not None and self.leases.lease.fenced:
            self.leases.fence(frozenset())
        for node in self.nodes.values():
            node.pace.stalls = 0.0
            node.disk.crash_at = None
            node.place.wake()

    # ------------------------------------------------------------------ what they are made of

    def any_node(self) -> Node:
        """Often the one who leads."""
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


# ---------------------------------------------------------------------- processes and machines


def _kill(troubles: Troubles) -> None:
    troubles.any_node().kill()


def _power_cut(troubles: Troubles) -> None:
    node = troubles.any_node()
    if node.process is not None:
        node.cut()


def _cut_in_a_write(troubles: Troubles) -> None:
    node = troubles.any_node()
    if node.process is not None:
        node.cut_soon(troubles.random.randrange(20), has_power=troubles.random.random() < 0.3)


def _cut_in_a_sync(troubles: Troubles) -> None:
    """Its disk has not answered for a while when the power goes."""
    node = troubles.any_node()
    node.pace.is_stuck = True

    def cut() -> None:
        node.pace.is_stuck = False
        if node.process is not None:
            node.cut("while it syncs")

    troubles.world.after(troubles.random.uniform(0.05, 1.2), cut)


def _stop(troubles: Troubles) -> None:
    troubles.any_node().stop()


def _pause(troubles: Troubles) -> None:
    node = troubles.any_node()
    seconds = troubles.a_while()
    troubles.world.tell(f"{node.place.name} stands still for {seconds:.2f} s")
    node.place.pause(seconds)


def _ambush(troubles: Troubles) -> None:
    """It stands still as soon as it has written to the lease store, or read."""
    node = troubles.any_node()
    seconds = troubles.a_while()
    troubles.world.tell(f"{node.place.name} will stand still for {seconds:.2f} s")
    troubles.leases.ambushes[node.number] = seconds


def _clock(troubles: Troubles) -> None:
    node = troubles.any_node()
    by_ms = troubles.random.randrange(-10_000, 10_000)
    troubles.world.tell(f"{node.place.name}: the wall clock is set by {by_ms} ms")
    node.place.jump(by_ms)


# ---------------------------------------------------------------------- network


def _isolate(troubles: Troubles) -> None:
    """A member from all that there is."""
    me = troubles.any_node().number
    others = [*(each for each in troubles.nodes if each != me), LEASES, *troubles.clients]
    ways = [way for each in others for way in ((me, each), (each, me))]
    troubles.cut(f"member {me} is cut off", ways)


def _cut_pair(troubles: Troubles) -> None:
    """Two members from each other."""
    one, other = troubles.random.sample(sorted(troubles.nodes), 2)
    troubles.cut(f"members {one} and {other} are cut", [(one, other), (other, one)])


def _cut_one_way(troubles: Troubles) -> None:
    """Whoever a member talks to hears it no more, or the other way round."""
    me = troubles.any_node().number
    peers = [*(each for each in troubles.nodes if each != me), LEASES]
    others = troubles.random.sample(peers, troubles.random.randrange(1, len(peers) + 1))
    outwards = troubles.random.random() < 0.5
    ways = [(me, each) if outwards else (each, me) for each in others]
    troubles.world.tally["one-way cuts"] += 1
    troubles.cut(f"one way is cut: {ways}", ways)


def _cut_from_members(troubles: Troubles) -> None:
    """A member from the others, but not from the lease and the clients."""
    me = troubles.any_node().number
    others = [each for each in troubles.nodes if each != me]
    ways = [way for each in others for way in ((me, each), (each, me))]
    troubles.cut(f"member {me} is cut off from the members", ways)


def _cut_from_leases(troubles: Troubles) -> None:
    """Some members from the lease store."""
    some = troubles.random.sample(
        sorted(troubles.nodes), troubles.random.randrange(1, len(troubles.nodes) + 1)
    )
    ways = [way for each in some for way in ((LEASES, each), (each, LEASES))]
    troubles.cut(f"members {some} are cut off from the lease store", ways)


def _resets(troubles: Troubles) -> None:
    count = troubles.network.break_some(troubles.random.random())
    troubles.world.tell(f"{count} connections break off")


# ---------------------------------------------------------------------- disks


def _slow_disk(troubles: Troubles) -> None:
    node = troubles.any_node()
    node.pace.slow, node.pace.slow_seconds = troubles.random.random(), troubles.a_while()
    troubles.lasts(f"{node.place.name}: a slow disk", partial(_well_again, node.pace))


def _stuck_disk(troubles: Troubles) -> None:
    node = troubles.any_node()
    node.pace.is_stuck = True
    troubles.lasts(f"{node.place.name}: a disk that does not answer", partial(_loose, node.pace))


def _full_disk(troubles: Troubles) -> None:
    node = troubles.any_node()
    node.fill(troubles.random.randrange(200_000))
    troubles.lasts(f"{node.place.name}: a full disk", partial(node.fill, None))


def _broken_disk(troubles: Troubles) -> None:
    node = troubles.any_node()
    choose = troubles.random.choice
    node.befall(
        Faults(
            no_space=choose([0, 50]),
            write_error=choose([0, 50]),
            sync_error=choose([0, 30]),
            flipped_bit=choose([0, 100]),
        )
    )
    troubles.lasts(f"{node.place.name}: a broken disk", partial(node.befall, QUIET))


def _new_disk(troubles: Troubles) -> None:
    """Of a member of the set as well, where others have what it had."""
    running = {number for number, node in troubles.nodes.items() if node.process is not None}
    spare = [each for each in sorted(troubles.nodes) if troubles.checks.is_spare(each, running)]
    if spare:
        node = troubles.nodes[troubles.random.choice(spare)]
        troubles.world.tell(f"{node.place.name} gets a new disk")
        node.replace_disk()


def _well_again(pace: Pace) -> None:
    pace.slow = 0.0


def _loose(pace: Pace) -> None:
    pace.is_stuck = False


# ---------------------------------------------------------------------- the lease store and people


def _lease_outage(troubles: Troubles) -> None:
    leases = troubles.leases
    leases.health = troubles.random.choice([each for each in Health if each is not Health.WELL])
    troubles.lasts(f"the lease store is {leases.health.value}", partial(_lease_back, leases))


def _lease_back(leases: LeaseStore) -> None:
    leases.health = Health.WELL


def _switch(troubles: Troubles) -> None:
    number = troubles.random.choice(sorted(troubles.nodes))
    troubles.leases.wish(lambda wishes: replace(wishes, switch_to=number, number=wishes.number + 1))


def _prefer(troubles: Troubles) -> None:
    number = troubles.random.choice(sorted(troubles.nodes))
    troubles.leases.wish(lambda wishes: replace(wishes, preferred=number))


def _fence(troubles: Troubles) -> None:
    node = troubles.any_node()
    troubles.leases.fence(frozenset({node.number}))
    troubles.lasts(f"{node.place.name} is fenced", partial(troubles.leases.fence, frozenset[int]()))


def _delete_lease(troubles: Troubles) -> None:
    troubles.leases.delete()


def _restore_lease(troubles: Troubles) -> None:
    """One that every member knows to be old: who does not could not tell it from the last one."""
    try:
        below = min(kept.read(node.disk).epoch for node in troubles.nodes.values())
    except DiskError:
        return
    troubles.leases.restore(below)


def _allow_loss(troubles: Troubles) -> None:
    """For the rest of the history."""
    troubles.leases.wish(lambda wishes: replace(wishes, allows_unclean=True))


TROUBLES: Final[Mapping[str, Callable[[Troubles], None]]] = {
    "kill": _kill,
    "power cut": _power_cut,
    "cut in a sync": _cut_in_a_sync,
    "cut in a write": _cut_in_a_write,
    "stop": _stop,
    "pause": _pause,
    "ambush": _ambush,
    "clock": _clock,
    "isolate": _isolate,
    "cut pair": _cut_pair,
    "cut one way": _cut_one_way,
    "cut from members": _cut_from_members,
    "cut from leases": _cut_from_leases,
    "resets": _resets,
    "slow disk": _slow_disk,
    "stuck disk": _stuck_disk,
    "full disk": _full_disk,
    "broken disk": _broken_disk,
    "new disk": _new_disk,
    "lease outage": _lease_outage,
    "switch": _switch,
    "prefer": _prefer,
    "fence": _fence,
    "delete lease": _delete_lease,
    "restore lease": _restore_lease,
    "allow loss": _allow_loss,
}
