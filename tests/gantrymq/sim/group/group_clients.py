"""Clients of a simulated group, as Java's behave: three tries a message, routes from name servers.

A producer sends one message after the other. A consumer reads every queue, of the master or of a
slave, and commits to the master how far it got.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.sim.group.group_callers import Caller, Directory
from gantrymq.sim.group.group_world import Life, Place, World
from gantrymq.sim.nodes.group_namesrv import name_server_address
from gantrymq.sim.nodes.group_network import Network
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import FLAG_ONEWAY, Command, Encoding
from gantrymq.wire.headers.offset import UpdateConsumerOffsetRequest
from gantrymq.wire.headers.pull import PullMessageRequest, PullMessageResponse
from gantrymq.wire.headers.route import GetRouteInfoRequest
from gantrymq.wire.headers.send import SendMessageResponse, SendMessageV2Request
from gantrymq.wire.message.properties import encode
from gantrymq.wire.version import OWN_VERSION

TOPIC: Final = "T"
QUEUES: Final = 4
FIRST_NUMBER: Final = 200

SEND_SECONDS: Final = 3.0
TRIES: Final = 3
PULL_SECONDS: Final = 5.0
PULL_PAUSE_MAX: Final = 2.0
# So many commits say more than was read: nothing keeps clients from that.
AHEAD: Final = 0.02
COMMIT_SECONDS: Final = 1.0
_SUSPENDS: Final = 2
_SUBSCRIBES: Final = 4
_MASTER: Final = 0


@final
@dataclass(slots=True)
class Habits:
    """How many clients one history has, and what they do how often."""

    producers: int = 2
    consumers: int = 1
    sends_a_second: float = 10.0
    pulls_a_second: float = 3.0
    route_seconds: float = 4.0
    delayed: float = 0.05
    """Share of the messages that are delivered later."""
    name_servers: int = 2


class Client:
    """What all have in common: a place, and the route."""

    def __init__(
        self,
        world: World,
        network: Network,
        directory: Directory,
        habits: Habits,
        index: int,
        name: str,
    ) -> None:
        self.addresses: dict[int, str] = {}
        self.habits = habits
        self.life = Life()
        self.name = name
        self.random: Random = world.random(name)
        self.place = Place(world, FIRST_NUMBER + index, name, self.random, 0.0)
        self.caller = Caller(self.place, self.life, network, directory)
        self.world = world
        self._poll()

    def _poll(self) -> None:
        """The route, of any name server."""
        address = name_server_address(self.random.randrange(self.habits.name_servers))
        ext = GetRouteInfoRequest(topic=TOPIC).encode()
        command = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext=ext, version=OWN_VERSION)
        self.caller.ask(address, command, 2.0, self._routed)

    def _routed(self, answer: Command | str) -> None:
        seconds = self.habits.route_seconds * self.random.uniform(0.5, 1.5)
        if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS:
            route = TopicRouteData.from_json(javajson.loads(answer.body))
            self.addresses = dict(route.brokers[0].addresses) if route.brokers else {}
        else:
            seconds = min(1.0, seconds)
        self.place.after(seconds, self._poll, self.life)


def send_message(
    topic: str, properties: Mapping[str, str], *, queue_id: int, body: bytes, wall_ms: int
) -> Command:
    """The request."""
    header = SendMessageV2Request(
        producer_group="PG",
        topic=topic,
        default_topic="TBW102",
        default_topic_queue_nums=QUEUES,
        queue_id=queue_id,
        sys_flag=0,
        born_timestamp=wall_ms,
        flag=0,
        properties=encode(properties).decode(),
        reconsume_times=0,
        unit_mode=False,
        batch=False,
        broker_name="broker-a",
    )
    return Command(
        RequestCode.SEND_MESSAGE_V2,
        ext=header.encode(),
        body=body,
        version=OWN_VERSION,
        encoding=Encoding.BINARY,
    )


@final
class Producer(Client):
    """It remembers what was acknowledged: the id, and where."""

    def __init__(
        self, world: World, network: Network, directory: Directory, habits: Habits, index: int
    ) -> None:
        self.acknowledged: dict[bytes, int] = {}
        self.last_ok = 0.0
        self.longest_gap = 0.0
        self.outcomes: Counter[str] = Counter()
        self._count = 0
        super().__init__(world, network, directory, habits, index, f"producer {index}")
        self.place.after(0.5, self._next, self.life)

    def _next(self) -> None:
        self._count += 1
        key = f"P{self.place.number}X{self._count:06d}"
        self._try(key, 1, self.world.now + SEND_SECONDS)

    def _try(self, key: str, number: int, until: float) -> None:
        address = self.addresses.get(_MASTER)
        left = until - self.world.now
        if left <= 0 or number > TRIES:
            self._done("failed")
            return
        if address is None:
            self.outcomes["no route"] += 1
            self.place.after(0.2, lambda: self._try(key, number, until), self.life)
            return
        self.caller.ask(
            address,
            self._message(key),
            left,
            lambda answer: self._answered(key, number, until, answer),
            may_repeat=True,
        )

    def _message(self, key: str) -> Command:
        properties = {"UNIQ_KEY": key}
        if self.random.random() < self.habits.delayed:
            properties["DELAY"] = "1"
        return send_message(
            TOPIC,
            properties,
            queue_id=self.random.randrange(QUEUES),
            body=key.encode() * self.random.randrange(1, 12),
            wall_ms=self.place.wall_ms,
        )

    def _answered(self, key: str, number: int, until: float, answer: Command | str) -> None:
        if isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS:
            told = SendMessageResponse.decode(answer.ext)
            self.acknowledged[key.encode()] = int(told.msg_id[-16:], 16)
            self.longest_gap = max(self.longest_gap, self.world.now - self.last_ok)
            self.last_ok = self.world.now
            self._done("ok")
            return
        if isinstance(answer, str):
            self.outcomes[answer] += 1
            self._try(key, number + 1, until)
            return
        code = ResponseCode(answer.code)
        self.outcomes[code.name] += 1
        is_stored = code in {
            ResponseCode.FLUSH_DISK_TIMEOUT,
            ResponseCode.FLUSH_SLAVE_TIMEOUT,
            ResponseCode.SLAVE_NOT_AVAILABLE,
        }
        if is_stored:
            self._done(code.name)
        else:
            self._try(key, number + 1, until)

    def _done(self, outcome: str) -> None:
        self.outcomes[outcome] += outcome in {"ok", "failed"}
        seconds = self.random.expovariate(self.habits.sends_a_second / self.habits.producers)
        self.place.after(seconds if outcome == "ok" else seconds + 0.1, self._next, self.life)


@final
class Consumer(Client):
    """It reads each queue from where it stands, and starts at 0."""

    def __init__(
        self, world: World, network: Network, directory: Directory, habits: Habits, index: int
    ) -> None:
        self.offsets = [0] * QUEUES
        self.read = 0
        super().__init__(world, network, directory, habits, 50 + index, f"consumer {index}")
        for queue in range(QUEUES):
            self._pull_soon(queue)
        self.place.after(COMMIT_SECONDS, self._commit, self.life)

    def _pull_soon(self, queue: int) -> None:
        seconds = self.random.expovariate(self.habits.pulls_a_second / QUEUES)
        self.place.after(min(seconds, PULL_PAUSE_MAX), lambda: self._pull(queue), self.life)

    def _pull(self, queue: int) -> None:
        ids = sorted(self.addresses)
        if not ids:
            self._pull_soon(queue)
            return
        address = self.addresses[ids[0] if self.random.random() < 0.6 else self.random.choice(ids)]
        holds = self.random.random() < 0.3
        header = PullMessageRequest(
            consumer_group="G",
            topic=TOPIC,
            queue_id=queue,
            queue_offset=self.offsets[queue],
            max_msg_nums=32,
            sys_flag=_SUBSCRIBES | (_SUSPENDS if holds else 0),
            commit_offset=0,
            suspend_timeout_millis=2000,
            subscription="*",
            sub_version=0,
            expression_type="TAG",
        )
        command = Command(RequestCode.PULL_MESSAGE, ext=header.encode(), version=OWN_VERSION)
        self.caller.ask(
            address, command, PULL_SECONDS, lambda answer: self._pulled(queue, address, answer)
        )

    def _pulled(self, queue: int, address: str, answer: Command | str) -> None:
        if isinstance(answer, str):
            if answer == "no answer in time":
                self.caller.disconnect(address)
        elif answer.ext:
            try:
                told = PullMessageResponse.decode(answer.ext)
            except RemoteError:
                told = None
            if told is not None and answer.code in {
                ResponseCode.SUCCESS,
                ResponseCode.PULL_OFFSET_MOVED,
            }:
                self.read += max(0, told.next_begin_offset - self.offsets[queue])
                self.offsets[queue] = told.next_begin_offset
        self._pull_soon(queue)

    def _commit(self) -> None:
        address = self.addresses.get(_MASTER)
        queue = self.random.randrange(QUEUES)
        if address is not None:
            ahead = self.random.randrange(1, 100) if self.random.random() < AHEAD else 0
            header = UpdateConsumerOffsetRequest(
                consumer_group="G",
                topic=TOPIC,
                queue_id=queue,
                commit_offset=self.offsets[queue] + ahead,
            )
            command = Command(
                RequestCode.UPDATE_CONSUMER_OFFSET,
                ext=header.encode(),
                flag=FLAG_ONEWAY,
                version=OWN_VERSION,
            )
            self.caller.ask(address, command, 1.0, lambda answer: None, may_repeat=True)
        self.place.after(COMMIT_SECONDS / QUEUES, self._commit, self.life)
