"""Simulates an administrator that deletes topics and creates them again.

It sends a few messages to each topic in between.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, final

from gantrymq.sim.checks.group_mirror import RENEWED
from gantrymq.sim.group.group_administrator import PATIENCE_SECONDS, create_topic
from gantrymq.sim.group.group_callers import Directory
from gantrymq.sim.group.group_clients import QUEUES, Client, Habits, send_message
from gantrymq.sim.group.group_renewed import Kept, Renewed
from gantrymq.sim.group.group_world import World
from gantrymq.sim.nodes.group_network import Network
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import SendMessageResponse
from gantrymq.wire.headers.topic import DeleteTopicRequest
from gantrymq.wire.version import OWN_VERSION

TOPICS: Final = 2
MESSAGES_MAX: Final = 12
SEND_SECONDS: Final = 3.0
PAUSE_SECONDS: Final = 0.3
_MASTER: Final = 0


@final
class Renewer(Client):
    """One thing after the other; each is asked for until it is done."""

    def __init__(
        self,
        world: World,
        network: Network,
        directory: Directory,
        habits: Habits,
        renewed: Renewed,
    ) -> None:
        self.acknowledged: dict[bytes, int] = {}
        self._count = 0
        self._renewed = renewed
        super().__init__(world, network, directory, habits, 90, "renewer")
        self.place.after(1.0, self._begin, self.life)

    def _begin(self) -> None:
        topic = f"{RENEWED.decode()}{self.random.randrange(TOPICS)}"
        left = self.random.randrange(MESSAGES_MAX)
        self._ask(partial(create_topic, topic), lambda: self._send(topic, left))

    def _end(self, topic: str) -> None:
        if self.random.random() < 0.3:
            self._begin()
            return
        header = DeleteTopicRequest(topic=topic)
        command = partial(
            Command,
            RequestCode.DELETE_TOPIC_IN_BROKER,
            ext=header.encode(),
            version=OWN_VERSION,
        )
        self._ask(command, self._begin)

    def _ask(self, command: Callable[[], Command], then: Callable[[], None]) -> None:
        def answered(answer: Command | str) -> None:
            if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS:
                self._later(then)
            else:
                again()

        def again() -> None:
            self._later(partial(self._ask, command, then))

        address = self.addresses.get(_MASTER)
        if address is None:
            again()
        else:
            self.caller.ask(address, command(), PATIENCE_SECONDS, answered)

    def _later(self, do: Callable[[], None]) -> None:
        self.place.after(self.random.expovariate(1.0 / PAUSE_SECONDS), do, self.life)

    # ------------------------------------------------------------------ messages

    def _send(self, topic: str, left: int) -> None:
        if not left:
            self._end(topic)
            return
        then = partial(self._later, partial(self._send, topic, left - 1))
        address = self.addresses.get(_MASTER)
        if address is None:
            then()
            return
        self._count += 1
        key = f"R{self._count:06d}"
        deletions = self._renewed.deletions[topic]

        def answered(answer: Command | str) -> None:
            if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS:
                self._acknowledged(topic, key.encode(), deletions, answer)
            then()

        self.caller.ask(address, self._message(topic, key), SEND_SECONDS, answered)

    def _message(self, topic: str, key: str) -> Command:
        return send_message(
            topic,
            {"UNIQ_KEY": key},
            queue_id=self.random.randrange(QUEUES),
            body=key.encode(),
            wall_ms=self.place.wall_ms,
        )

    def _acknowledged(self, topic: str, key: bytes, deletions: int, answer: Command) -> None:
        told = SendMessageResponse.decode(answer.ext)
        position = int(told.msg_id[-16:], 16)
        self.acknowledged[key] = position
        message = Kept(topic, told.queue_id, told.queue_offset, position, key)
        self._renewed.acknowledge(message, deletions)
