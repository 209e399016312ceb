"""Defines `gantry sendMessage` and related commands, which send test messages and measure them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final, TypeVar

from gantrymq.base.errors import GantryError
from gantrymq.cli.frame.command import PRODUCER_GROUP, Command
from gantrymq.cli.frame.failures import UsageError
from gantrymq.cli.frame.option import Option, Options, required
from gantrymq.cli.frame.page import Page, Table, Text, members
from gantrymq.client.core.errors import RouteError
from gantrymq.client.core.flow.flow_steps import Flow
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.producer.producer import ProducerCore
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import Json

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.client.core.message.results import SendResult

T = TypeVar("T")

_TOPIC: Final = required("t", "topic", "topic name")
_AMOUNT: Final = Option("a", "amount", "the number of messages (100)")
_SIZE: Final = Option("s", "size", "the bytes of each message (128)")
_FORM: Final = "%-32s  %-4s  %-20s    %s"
_WARM_UP_BYTES: Final = 16
# Each message has a line of output; `gantry bench` sends more.
_AMOUNT_MAX: Final = 100_000
_BEIJING: Final = timezone(timedelta(hours=8))


@dataclass(frozen=True, slots=True)
class _Trial:
    """The outcome of one send, and how long it took."""

    queue: MessageQueue | None
    outcome: SendResult | GantryError
    took_ms: int

    @property
    def is_done(self) -> bool:
        return not isinstance(self.outcome, GantryError)


async def _producing(
    admin: Administration, work: Callable[[ProducerCore], Flow[T]], *, trace: bool = False
) -> T:
    """Run `work` with a producer, close the producer, and return the result."""
    timeout_s = admin.instance.settings.api_timeout_s
    settings = ProducerSettings(send_timeout_s=timeout_s, trace=trace)
    producer = ProducerCore(admin.instance, PRODUCER_GROUP, settings)
    await producer.start()
    try:
        result = await work(producer)
    except Exception:  # not BaseException: an interrupted command must not wait for brokers
        await producer.close()
        raise
    await producer.close()
    return result


async def send_message(admin: Administration, options: Options) -> Page:
    topic, broker = options.text("topic"), options.maybe("broker")
    number = None if options.maybe("qid") is None else options.number("qid")
    if number is not None and broker is None:
        raise UsageError("Broker name must be set if the queue is chosen!")
    keys, tag = options.maybe("key") or "", options.maybe("tags") or ""
    message = Message(topic, options.text("body"), tag=tag, keys=keys)

    async def send(producer: ProducerCore) -> SendResult:
        queue = None
        if broker is not None:
            queue = await _queue_of(admin, producer, topic, broker, number)
        return await producer.send(message, queue=queue)

    result = await _producing(admin, send, trace=options.decision("msgTraceEnable"))
    queue = result.queue
    row = (queue.broker_name, queue.queue_id, result.status.name, result.message_id)
    titles = ("#Broker Name", "#QID", "#Send Result", "#MsgId")
    return Page([Table("messages", titles, _FORM, [row])])


async def _queue_of(
    admin: Administration, producer: ProducerCore, topic: str, broker: str, number: int | None
) -> MessageQueue:
    """Return the queue of the number, or a random one of the broker's. Raises RouteError."""
    if number is not None:
        return MessageQueue(topic, broker, number)
    queues = [each for each in await producer.queues(topic) if each.broker_name == broker]
    if not queues:
        raise RouteError(
            f"The broker[{broker}] not exist: it has no queue of {topic} to write;"
            f" gantry topicRoute -t {topic} -l shows the brokers that have one"
        )
    return queues[admin.ports.chance(len(queues))]


async def send_status(admin: Administration, options: Options) -> Page:
    """Send to the topic that has the broker's name. The first message, which also waits for the
    route and the connection, is not shown."""
    topic, count = options.text("brokerName"), options.counted("count", 50, most=_AMOUNT_MAX)
    body = _greeting(options.body_size("messageSize"))

    async def send(producer: ProducerCore) -> list[_Trial]:
        await producer.send(Message(topic, _greeting(_WARM_UP_BYTES)))
        return await _series(admin, count, lambda _: _timed(admin, producer, Message(topic, body)))

    trials = await _producing(admin, send)
    shown = Page()
    for each in trials:
        if isinstance(each.outcome, GantryError):
            shown.failures.append(each.outcome)
            continue
        result = each.outcome
        text = f"rt={each.took_ms}ms, SendResult={_java_text(result)}"
        value: dict[str, Json] = {"rt": each.took_ms, "messageId": result.message_id}
        queue = result.queue
        value |= {"brokerName": queue.broker_name, "queueId": queue.queue_id}
        value |= {"status": result.status.name, "queueOffset": result.queue_offset}
        shown.say("messages", text, members(value))
    return shown


async def check_times(admin: Administration, options: Options) -> Page:
    """Send to each queue of a topic in turn."""
    topic, amount = options.text("topic"), options.counted("amount", 100, most=_AMOUNT_MAX)
    message = Message(topic, b"a" * options.body_size("size"))

    async def send(producer: ProducerCore) -> list[_Trial]:
        queues = await producer.queues(topic)

        async def one(number: int) -> _Trial:
            return await _timed(admin, producer, message, queues[number % len(queues)])

        return await _series(admin, amount, one)

    trials = await _producing(admin, send)
    rows = [
        (*_place(each.queue), "true" if each.is_done else "false", each.took_ms) for each in trials
    ]
    titles = ("#Broker Name", "#QID", "#Send Result", "#RT")
    average = _average(trials)
    text = Text("averageMs", [f"Avg RT: {average:.2f}"], average)
    return Page([Table("messages", titles, _FORM, rows), text], _causes(trials))


def _place(queue: MessageQueue | None) -> tuple[str, int]:
    assert queue is not None, "these sends name their queues"
    return queue.broker_name, queue.queue_id


async def cluster_times(admin: Administration, options: Options) -> Page:
    """Send to the topics that have the names of the brokers."""
    amount = options.counted("amount", 100, most=_AMOUNT_MAX)
    body = b"a" * options.body_size("size")
    info = await admin.clusters.info()
    wanted = options.maybe("cluster")
    if wanted is not None and wanted not in info.clusters:
        known = ", ".join(sorted(info.clusters)) or "none"
        raise RouteError(f"cluster [{wanted}] not exist; the name servers know: {known}")
    brokers = [
        (cluster, name)
        for cluster in ([wanted] if wanted is not None else sorted(info.clusters))
        for name in sorted(info.clusters[cluster])
    ]

    async def send(producer: ProducerCore) -> list[list[_Trial]]:
        async def one(name: str) -> list[_Trial]:
            message = Message(name, body)
            return await _series(admin, amount, lambda _: _timed(admin, producer, message))

        return [await one(name) for _, name in brokers]

    series = await _producing(admin, send)
    rows: list[tuple[str, str, float, int, int]] = []
    for (cluster, name), trials in zip(brokers, series, strict=True):
        done = sum(each.is_done for each in trials)
        rows.append((cluster, name, _average(trials), done, len(trials) - done))
    table = _log(admin, options, rows) if options.decision("printLog") else _table(rows)
    return Page([table], [each for trials in series for each in _causes(trials)])


def _table(rows: list[tuple[str, str, float, int, int]]) -> Table:
    titles = ("#Cluster Name", "#Broker Name", "#RT", "#successCount", "#failCount")
    form = "%-24s  %-24s  %-8.2f  %-16d  %-16d"
    return Table("brokers", titles, form, rows, "%-24s  %-24s  %-4s  %-8s  %-8s")


def _log(
    admin: Administration, options: Options, rows: list[tuple[str, str, float, int, int]]
) -> Text:
    """Make lines for a log collector, with mqadmin's time zone: Beijing."""
    now = datetime.fromtimestamp(admin.ports.clock.wall_ms() / 1000, _BEIJING)
    room = options.text("machineRoom", "noname")
    lines = [
        f"{now:%Y-%m-%d %H:%M:%S}|{room}|{cluster}|{name}|{int(average + 0.5)}"
        for cluster, name, average, _, _ in rows
    ]
    return Text("lines", lines, [*lines])


# ---------------------------------------------------------------------- sends that are timed


async def _series(
    admin: Administration, count: int, send: Callable[[int], Flow[_Trial]]
) -> list[_Trial]:
    """Send one message after another."""
    trials = []
    admin.pace.begin(count)
    for number in range(count):
        trials.append(await send(number))
        admin.pace.advance()
    admin.pace.end()
    return trials


async def _timed(
    admin: Administration,
    producer: ProducerCore,
    message: Message,
    queue: MessageQueue | None = None,
) -> _Trial:
    clock = admin.ports.clock
    began = clock.monotonic()
    outcome: SendResult | GantryError
    try:
        outcome = await producer.send(message, queue=queue)
    except GantryError as error:
        outcome = error
    return _Trial(queue, outcome, round((clock.monotonic() - began) * 1000))


def _average(trials: list[_Trial]) -> float:
    """Return the average of all sends but the first, which waits for the route and connection. A
    single send is its own average."""
    counted = trials[1:] or trials
    return sum(each.took_ms for each in counted) / len(counted)


def _causes(trials: list[_Trial]) -> list[Exception]:
    """Return one failure of each text, because a broker that is down fails all sends alike."""
    failed = (each.outcome for each in trials if isinstance(each.outcome, GantryError))
    return list({str(each): each for each in failed}.values())


def _greeting(size: int) -> str:
    """Return mqadmin's message body. It consists of whole words, so it may exceed the size."""
    return "hello jodie" * -(-size // len("hello jodie"))


def _java_text(result: SendResult) -> str:
    queue = result.queue
    return (
        f"SendResult [sendStatus={result.status.name}, msgId={result.message_id},"
        f" offsetMsgId={result.offset_message_id}, messageQueue=MessageQueue"
        f" [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}],"
        f" queueOffset={result.queue_offset}, recallHandle={result.recall_handle or 'null'}]"
    )


COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "sendMessage",
            (
                _TOPIC,
                required("p", "body", "the message's body, as UTF-8"),
                Option("k", "key", "its keys"),
                Option("c", "tags", "its tag"),
                Option("b", "broker", "to this broker name"),
                Option("i", "qid", "to this queue, with -b"),
                Option("m", "msgTraceEnable", "true: with a trace (false)"),
            ),
            send_message,
        ),
        Command(
            "sendMsgStatus",
            (
                required("b", "brokerName", "the broker; its topic of the same name is used"),
                Option("s", "messageSize", "the bytes of each message (128)"),
                Option("c", "count", "the number of messages (50)"),
            ),
            send_status,
        ),
        Command("checkMsgSendRT", (_TOPIC, _AMOUNT, _SIZE), check_times),
        Command(
            "clusterRT",
            (
                _AMOUNT,
                _SIZE,
                Option("c", "cluster", "only this cluster"),
                Option("p", "printLog", "true: print lines for log collectors (false)"),
                Option("m", "machineRoom", "with -p: the name of this machine room (noname)"),
                Option("i", "interval", "ignored: use --watch"),
            ),
            cluster_times,
        ),
    )
}
