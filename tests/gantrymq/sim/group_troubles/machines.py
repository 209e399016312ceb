"""Troubles of processes and machines."""

from __future__ import annotations

from gantrymq.sim.group_troubles.maker import Troubles


def kill(troubles: Troubles) -> None:
    troubles.any_node().kill()


def power_cut(troubles: Troubles) -> None:
    node = troubles.any_node()
    if node.process is not None:
        node.cut()


def cut_in_a_write(troubles: Troubles) -> None:
    node = troubles.any_node()
    if node.process is not None:
        node.cut_soon(troubles.random.randrange(20), has_power=troubles.random.random() < 0.3)


def cut_in_a_sync(troubles: Troubles) -> None:
    """Its disk has not answered for a while when the power goes."""
    node = troubles.any_node()
    node.pace.is_stuck = True

    def cut() -> None:
        node.pace.is_stuck = False
        if node.process is not None:
            node.cut("while it syncs")

    troubles.world.after(troubles.random.uniform(0.05, 1.2), cut)


def stop(troubles: Troubles) -> None:
    troubles.any_node().stop()


def pause(troubles: Troubles) -> None:
    node = troubles.any_node()
    seconds = troubles.a_while()
    troubles.world.tell(f"{node.place.name} stands still for {seconds:.2f} s")
    node.place.pause(seconds)


def ambush(troubles: Troubles) -> None:
    """It stands still as soon as it has written to the lease store, or read."""
    node = troubles.any_node()
    seconds = troubles.a_while()
    troubles.world.tell(f"{node.place.name} will stand still for {seconds:.2f} s")
    troubles.api.ambushes[node.number] = seconds


def clock(troubles: Troubles) -> None:
    node = troubles.any_node()
    by_ms = troubles.random.randrange(-10_000, 10_000)
    troubles.world.tell(f"{node.place.name}: the wall clock is set by {by_ms} ms")
    node.place.jump(by_ms)


def power_of_all(troubles: Troubles) -> None:
    """The whole group loses its power at once."""
    troubles.world.tally["power cuts of the whole group"] += 1
    for node in troubles.nodes.values():
        node.cut("with all others")


def suspend(troubles: Troubles) -> None:
    """A virtual machine stands still, and so do its clocks."""
    node = troubles.any_node()
    seconds = troubles.a_while()
    troubles.world.tell(f"{node.place.name} is suspended for {seconds:.2f} s")
    node.place.pause(seconds, stops_clocks=True)
