"""Sends pulls of simulated consumers, and stores messages for them."""

from __future__ import annotations

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.state import State
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pull import PullMessageRequest
from gantrymq.wire.message import properties, record
from gantrymq.wire.message.record import Record

COMMITS, SUSPENDS, SUBSCRIBES, CLASS_FILTER = 1, 2, 4, 8


class PulledBroker:
    """A broker with a topic T of four queues, and requests of consumers of group G."""

    def __init__(self, broker: OpenedBroker | None = None) -> None:
        self.broker = broker or OpenedBroker()
        self.state = self.broker.state
        self.services = self.broker.services
        add_topic(self.broker)

    def store(self, *names: str, topic: str = "T", queue_id: int = 0, **named: str) -> None:
        """Store messages with these bodies and with common properties."""
        self.begin_to_store(*names, topic=topic, queue_id=queue_id, **named)
        self.broker.settle()

    def begin_to_store(
        self, *names: str, topic: str = "T", queue_id: int = 0, **named: str
    ) -> None:
        """The same, without the turn that stores the messages."""
        put(self.state, *names, topic=topic, queue_id=queue_id, **named)

    def send(
        self,
        offset: int = 0,
        *,
        channel: FakeChannel | None = None,
        code: RequestCode = RequestCode.PULL_MESSAGE,
        **fields: object,
    ) -> Request:
        return self.broker.send(code, pull(offset, **fields), channel=channel)

    def ask(
        self,
        offset: int = 0,
        *,
        code: RequestCode = RequestCode.PULL_MESSAGE,
        **fields: object,
    ) -> Command:
        """The response to a pull that is not held."""
        answer = self.broker.answer(self.send(offset, code=code, channel=None, **fields))
        assert answer is not None
        return answer

    def answer(self, request: Request) -> Command:
        answer = self.broker.answer(request)
        assert answer is not None
        return answer


def put(state: State, *names: str, topic: str = "T", queue_id: int = 0, **named: str) -> None:
    """Put messages with these bodies, which the broker's next turn stores."""
    host = state.identity.store_host
    for name in names:
        message = Record(
            topic.encode(),
            name.encode(),
            properties=properties.encode(named),
            queue_id=queue_id,
            born_host=host,
            store_host=host,
        )
        state.task_runner.start(tasks.put(message), lambda _: None, _raise)


def pull(offset: int = 0, **fields: object) -> PullMessageRequest:
    """A pull of T's first queue by group G; it carries a subscription by default."""
    values: dict[str, object] = {
        "consumer_group": "G",
        "topic": "T",
        "queue_id": 0,
        "queue_offset": offset,
        "max_msg_nums": 32,
        "sys_flag": SUBSCRIBES,
        "commit_offset": 0,
        "suspend_timeout_millis": 15_000,
        "subscription": "*",
        "sub_version": 0,
        "expression_type": "TAG",
        **fields,
    }
    ext = {name: str(value) for name, value in values.items() if value is not None}
    camel = {
        "".join(
            [part.title() if number else part for number, part in enumerate(name.split("_"))]
        ): value
        for name, value in ext.items()
    }
    return PullMessageRequest.decode(camel)


def bodies(answer: Command) -> list[str]:
    """The bodies of the messages in a response."""
    return [each.body.decode() for each in record.decode_all(answer.body)]


def place(answer: Command) -> tuple[int, int, int]:
    """The next offset of a response, and the queue's bounds."""
    assert answer.ext is not None
    names = ("nextBeginOffset", "minOffset", "maxOffset")
    first, second, third = (int(answer.ext[name]) for name in names)
    return first, second, third


def _raise(error: Exception) -> None:
    raise error
