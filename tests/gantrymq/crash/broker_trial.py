"""Life after life of a real broker process, killed at drawn moments while a client program works.

    trial = BrokerTrial(folder, FlushDiskType.SYNC_FLUSH, seed)
    trial.run(kills=12)
    trial.check()

The client program is one thread for each role, with a connection of its own. A name server in
another process sees the broker go and come back.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self, final

from gantrymq.crash.ledger import SHOWN_MAX
from gantrymq.crash.link import CUT, Link
from gantrymq.crash.roles.role import Role
from gantrymq.crash.roles.role_deciding import Deciding
from gantrymq.crash.roles.role_popping import Popping
from gantrymq.crash.roles.role_sending import Sending
from gantrymq.crash.roles.role_settling import Administering, Committing
from gantrymq.crash.roles.role_waiting import Waiting
from gantrymq.interop.child import Child, wait_until
from gantrymq.interop.servers import Broker, gantry_broker, gantry_name_server
from gantrymq.interop.wire import connect

AT_ONCE_SECONDS: Final = 10.0  # a name server sees the connection's end, on a machine that is busy
SETTLE_SECONDS: Final = 60.0
START_SECONDS: Final = 1.0
PLAY_SECONDS: Final = 0.8
PAUSE_SECONDS: Final = 0.02

# What is written now and then is written often: lives are short.
SETTINGS: Final = {
    "flushConsumerOffsetInterval": "300",
    "flushDelayOffsetInterval": "300",
    "transactionTimeOut": "700",
    "transactionCheckInterval": "400",
    "waitTimeMillsInSendQueue": "20000",  # a machine that is busy is no reason to refuse
}


@final
class BrokerTrial:
    """One broker's folder."""

    def __init__(self, folder: Path, flush: str, seed: int) -> None:
        self._chance = random.Random(seed)
        self._what = f"{flush} seed {seed}"
        names, own = folder / "names", folder / "broker"
        for each in (names, own):
            each.mkdir()
        self._names = gantry_name_server(names)
        self._names.start()
        self._broker = gantry_broker(own, [self._names], {**SETTINGS, "flushDiskType": flush})
        self._config = own / "store" / "config"
        self._administering = Administering()
        self._roles: Sequence[Role] = (
            *(Sending(queue_id) for queue_id in range(3)),
            Waiting(),
            Deciding(),
            Popping(),
            Committing(self._config),
            self._administering,
        )
        self._kills = 0
        self._faults: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._broker.kill()
        self._names.kill()

    # ------------------------------------------------------------------ lives

    def run(self, kills: int) -> None:
        """Every fourth life or so is killed while it starts."""
        self._begin()
        while self._kills < kills and not self._all_faults():
            self._play(self._chance.uniform(0.05, PLAY_SECONDS))
            while self._kills < kills and self._chance.random() < 0.25:
                self._start_and_kill(self._chance.uniform(0.0, START_SECONDS))
            self._revive()

    def _begin(self) -> None:
        self._broker.start()
        with self._link() as link:
            for role in self._roles:
                role.prepare(link)

    def _play(self, seconds: float) -> None:
        """All roles work, until the broker is killed."""
        threads = [
            threading.Thread(target=self._work, args=[role], name=role.name) for role in self._roles
        ]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self._broker.kill()
        for thread in threads:
            thread.join()
        self._killed()

    def _work(self, role: Role) -> None:
        try:
            with self._link() as link:
                role.play(link)
        except CUT:
            return
        except Exception as error:  # told, and not lost with its thread
            role.faults.append(f"{role.name}: {type(error).__name__}: {error}")

    def _start_and_kill(self, seconds: float) -> None:
        self._broker.spawn()
        time.sleep(seconds)
        self._broker.kill()
        self._killed()

    def _killed(self) -> None:
        self._kills += 1
        for role in self._roles:
            role.killed(self._config)
        wait_until(
            self._is_gone, "a name server forgets the broker that was killed", AT_ONCE_SECONDS
        )

    def _is_gone(self) -> bool:
        return not self._broker.is_known_to(self._names)

    def _revive(self) -> None:
        """It serves again, and the name server knows it, and its topics."""
        self._broker.start()
        with self._link() as link:
            for role in self._roles:
                role.revived(link)
        topic = self._administering.newest_topic
        if topic is not None and not self._names.knows_topic(topic):
            self._faults.append(f"the name server does not know {topic} of the broker it knows")

    @contextmanager
    def _link(self) -> Iterator[Link]:
        with connect(self._broker.address) as connection:
            yield Link(connection)

    # ------------------------------------------------------------------ the end

    def check(self) -> None:
        """Everything has come that is to come, and nothing is wrong."""
        waiting = list(self._roles)
        deadline = time.monotonic() + SETTLE_SECONDS
        with self._link() as link:
            while waiting and time.monotonic() < deadline and not self._all_faults():
                waiting = [role for role in waiting if not role.settle(link)]
                time.sleep(PAUSE_SECONDS)
            for role in self._roles if not self._all_faults() else ():
                role.judge(link)
        self._faults += [f"{role.name}: not settled" for role in waiting]
        faults = self._all_faults()
        assert not faults, "\n".join([f"{self._what}:", *faults[:SHOWN_MAX], _tail(self._broker)])

    def _all_faults(self) -> list[str]:
        return [fault for role in self._roles for fault in role.faults] + self._faults

    def summary(self) -> str:
        figures = sum((role.figures for role in self._roles), Counter())
        told = ", ".join(f"{count} {name}" for name, count in figures.items())
        return f"broker, {self._what}: {self._kills} kills, {told}"


def _tail(broker: Broker) -> str:
    child: Child | None = broker.child
    return "" if child is None else child.report()
