"""Simulates an administrator that creates topics, and asks until each topic exists."""

from __future__ import annotations

from typing import Final, final

from gantrymq.sim.group.group_callers import Directory
from gantrymq.sim.group.group_clients import QUEUES, Client, Habits
from gantrymq.sim.group.group_world import World
from gantrymq.sim.nodes.group_network import Network
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.topic import CreateTopicRequest
from gantrymq.wire.version import OWN_VERSION

PREFIX: Final = "made-"
CREATE_SECONDS: Final = 2.0
# Longer than a broker waits for members to store it.
PATIENCE_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 0.3
_READ_WRITE: Final = 6
_MASTER: Final = 0


def create_topic(topic: str) -> Command:
    """The request."""
    header = CreateTopicRequest(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=QUEUES,
        write_queue_nums=QUEUES,
        perm=_READ_WRITE,
        topic_filter_type="SINGLE_TAG",
        topic_sys_flag=0,
        order=False,
    )
    return Command(RequestCode.UPDATE_AND_CREATE_TOPIC, ext=header.encode(), version=OWN_VERSION)


@final
class Administrator(Client):
    """One topic after the other."""

    def __init__(
        self, world: World, network: Network, directory: Directory, habits: Habits, index: int
    ) -> None:
        self._count = 0
        super().__init__(world, network, directory, habits, 80 + index, f"administrator {index}")
        self.place.after(1.0, self._next, self.life)

    def _next(self) -> None:
        self._count += 1
        self._ask(f"{PREFIX}{self._count}")

    def _ask(self, topic: str) -> None:
        address = self.addresses.get(_MASTER)
        if address is None:
            self.place.after(AGAIN_SECONDS, lambda: self._ask(topic), self.life)
            return
        self.caller.ask(
            address,
            create_topic(topic),
            PATIENCE_SECONDS,
            lambda answer: self._answered(topic, answer),
        )

    def _answered(self, topic: str, answer: Command | str) -> None:
        if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS:
            seconds = self.random.expovariate(1.0 / CREATE_SECONDS)
            self.place.after(seconds, self._next, self.life)
        else:
            self.place.after(AGAIN_SECONDS, lambda: self._ask(topic), self.life)
