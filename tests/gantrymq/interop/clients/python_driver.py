"""Drives Gantry's client by orders, of which many are in progress at once; the scenario judges.

in:  {"id": 7, "do": "send", "as": "name of the client object", ...}
out: {"id": 7, "answer": ...} or {"id": 7, "error": "..."}
"""

import asyncio
import contextlib
import json
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from gantrymq.client import (
    LATER,
    SUSPEND,
    Admin,
    CompressionType,
    ConsistentHash,
    ConsumeFrom,
    Message,
    MessageQueue,
    Outcome,
    PopConsumer,
    Producer,
    PullConsumer,
    PushConsumer,
    ReceivedMessage,
    SendMode,
    Sql,
    TransactionProducer,
    TransactionState,
    average,
    average_by_circle,
    reply,
)
from gantrymq.client.core.group.allocation import Allocate
from gantrymq.interop.clients.python_told import (
    Fields,
    address_in,
    delivery,
    message_of,
    popped_delivery,
    sent,
)
from gantrymq.runtime.security.certificates import ClientTls

SHORT_S: Final = 1.0
LINE_BYTES_MAX: Final = 16 << 20
SEND_TIMEOUT_S: Final = 10.0
STATES: Final = {
    "COMMIT_MESSAGE": TransactionState.COMMIT,
    "ROLLBACK_MESSAGE": TransactionState.ROLLBACK,
    "UNKNOW": TransactionState.UNKNOWN,
}
STRATEGIES: Final[dict[str, Allocate]] = {
    "average": average,
    "circle": average_by_circle,
    "hash": ConsistentHash(),
}


def admin_keywords(order: Fields) -> Fields:
    """The address of the cluster, and the credentials for its servers."""
    keywords: Fields = {"name_servers": order["namesrv"]}
    if "account" in order:
        keywords |= {"access_key": order["account"], "secret_key": order["secret"]}
    if order.get("tls"):
        keywords["tls"] = ClientTls.trusting(order["trust"])
    return keywords


def client_keywords(order: Fields) -> Fields:
    """The settings of all members: credentials, and short timeouts."""
    return {
        **admin_keywords(order),
        "namespace": order.get("namespace") or "",
        "instance_name": order["as"],
        "poll_name_server_s": SHORT_S,
        "heartbeat_s": SHORT_S,
        "persist_offsets_s": SHORT_S,
        "rebalance_s": SHORT_S,
    }


class Sending:
    """A producer, one for transactions, and an administrator that finds the sent messages."""

    def __init__(self, order: Fields) -> None:
        keywords = {
            **client_keywords(order),
            "send_timeout_s": SEND_TIMEOUT_S,
            "retries": 0,
            "async_retries": 0,
            "trace": bool(order.get("trace")),
            "compression": CompressionType[order.get("compression", "ZLIB")],
        }
        self.producer = Producer(order["group"], **keywords)
        self._in_transactions = TransactionProducer(
            f"{order['group']}-transactions", check=self._check, **keywords
        )
        self._admin = Admin(**admin_keywords(order))
        self._decisions: dict[str, list[str]] = {}
        self._checks: dict[str, int] = {}

    async def start(self) -> None:
        await self.producer.start()
        await self._in_transactions.start()
        await self._admin.start()

    async def stop(self) -> None:
        await self.producer.close()
        await self._in_transactions.close()
        await self._admin.close()

    async def send(self, order: Fields) -> list[Fields]:
        mode, messages = order["mode"], [message_of(each) for each in order["messages"]]
        if mode == "batch":
            return [sent(await self.producer.send_batch(messages))]
        if mode == "async":
            sends = (self.producer.send(each, mode=SendMode.ASYNC) for each in messages)
            return [sent(each) for each in await asyncio.gather(*sends)]
        if mode == "soon":
            sendings = [self.producer.send_async(each) for each in messages]
            return [sent(await each) for each in sendings]
        results = []
        for message in messages:
            if mode == "oneway":
                await self.producer.send_oneway(message)
            elif mode == "select":
                results.append(await self.producer.send(message, select=by_shard))
            else:
                results.append(await self.producer.send(message))
        return [sent(each) for each in results]

    # ------------------------------------------------------------------ transactions

    async def transact(self, order: Fields) -> Fields:
        message = message_of(order["message"])
        key = order["message"]["key"]
        self._decisions[key] = list(order["decisions"])
        self._checks[key] = 0
        result = await self._in_transactions.send_in_transaction(
            message, lambda _message, _argument: self._decision(key)
        )
        return sent(result.sent)

    def _check(self, message: ReceivedMessage) -> TransactionState:
        (key,) = message.keys
        self._checks[key] += 1
        return self._decision(key)

    def _decision(self, key: str) -> TransactionState:
        """The next decision for the transaction; the last one repeats."""
        decisions = self._decisions[key]
        return STATES[decisions[min(self._checks[key], len(decisions) - 1)]]

    async def checks(self, order: Fields) -> int:
        return self._checks[order["key"]]

    # ------------------------------------------------------------------ asking and finding

    async def request(self, order: Fields) -> str:
        message = message_of(order["message"])
        answer = await self.producer.request(message, timeout_s=order["millis"] / 1000)
        return answer.body.decode()

    async def view(self, order: Fields) -> Fields:
        """A message by its id, of either kind: an id with a broker's address is an offset message
        id."""
        topic, key = order["topic"], order["key"]
        if address_in(key) in await self._admin.topics.brokers(topic):
            return delivery(await self._admin.messages.by_offset_id(key, topic))
        (found,) = await self._admin.messages.by_key(topic, key, is_unique=True)
        return delivery(found)

    async def find(self, order: Fields) -> list[Fields]:
        return [
            delivery(each)
            for each in await self._admin.messages.by_key(order["topic"], order["key"])
        ]


class Inbox:
    """The received messages, and the threads or tasks that wait for more."""

    def __init__(self, diary: str | None = None) -> None:
        """`diary` is a file that outlives the process, with one line for each message."""
        self._messages: list[Fields] = []
        self._change = asyncio.Condition()
        self._diary = diary

    async def take(self, *messages: Fields) -> None:
        if self._diary is not None:
            with Path(self._diary).open("a") as diary:  # noqa: ASYNC230 - a line of a local file
                diary.writelines(map("{at_ms} {queue} {offset} {body}\n".format_map, messages))
        async with self._change:
            self._messages += messages
            self._change.notify_all()

    async def received(self, order: Fields) -> list[Fields]:
        """All received messages, once there are so many, or the time is over."""
        count = order["count"]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(order["millis"] / 1000), self._change:
                await self._change.wait_for(lambda: len(self._messages) >= count)
        return list(self._messages)


class Consuming(Inbox):
    """A push consumer; each message fails as often as the order says (-1: always)."""

    def __init__(self, order: Fields, replier: Sending | None) -> None:
        super().__init__(order.get("diary"))
        self._fails = order["fails"]
        self._failure = SUSPEND if order.get("orderly") else LATER
        self._replier = replier
        expression = order["expression"]
        self._consumer = PushConsumer(
            order["group"],
            **client_keywords(order),
            orderly=bool(order.get("orderly")),
            broadcasting=bool(order.get("broadcast")),
            allocate=STRATEGIES[order.get("strategy", "average")],
            consume_from=ConsumeFrom(order["from"]),
            consume_threads=4,
            suspend_s=0.1,
            trace=bool(order.get("trace")),
        )
        self._consumer.subscribe(
            order["topic"], Sql(expression) if order.get("sql") else expression, self._listen
        )

    async def start(self) -> None:
        await self._consumer.start()

    async def stop(self) -> None:
        await self._consumer.close()

    async def _listen(self, messages: Sequence[ReceivedMessage]) -> Outcome:
        await self.take(*map(delivery, messages))
        if self._replier is not None:
            for each in messages:
                answer = reply(each, b"re: " + each.body)
                await self._replier.producer.send(answer)
        is_done = self._fails >= 0 and all(each.reconsume_times >= self._fails for each in messages)
        return None if is_done else self._failure


class Popping(Inbox):
    """A pop consumer."""

    def __init__(self, order: Fields) -> None:
        super().__init__()
        self._consumer = PopConsumer(order["group"], **client_keywords(order), from_first=True)
        self._consumer.subscribe(order["topic"], order["expression"])
        self._work: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._consumer.start()
        self._work = asyncio.create_task(self._pop())

    async def _pop(self) -> None:
        async for popped in self._consumer:
            async with popped:
                await self.take(popped_delivery(popped))

    async def stop(self) -> None:
        await self._consumer.close()
        if self._work is not None:
            await self._work


class Reading:
    """A lite pull consumer."""

    def __init__(self, order: Fields) -> None:
        self._topic, self._is_assigned = order["topic"], order["assign"]
        self._consumer = PullConsumer(
            order["group"],
            **client_keywords(order),
            auto_commit_s=SHORT_S,
            consume_from=ConsumeFrom.FIRST_OFFSET,
        )

    async def start(self) -> None:
        if not self._is_assigned:
            self._consumer.subscribe(self._topic)
        await self._consumer.start()
        if self._is_assigned:
            queues = await self._consumer.fetch_message_queues(self._topic)
            await self._consumer.assign(queues)

    async def stop(self) -> None:
        await self._consumer.close()

    async def poll(self, order: Fields) -> list[Fields]:
        found: list[Fields] = []
        end = time.monotonic() + order["millis"] / 1000
        while len(found) < order["count"] and time.monotonic() < end:
            found += map(delivery, await self._consumer.poll(timeout_s=0.2))
        return found

    async def seek(self, order: Fields) -> None:
        for queue in await self._consumer.fetch_message_queues(order["topic"]):
            await self._consumer.seek(queue, order["offset"])


async def pull(order: Fields) -> list[Fields]:
    """All messages of a topic."""
    found: list[Fields] = []
    async with Admin(name_servers=order["namesrv"]) as admin:
        for data in (await admin.topics.route(order["topic"])).queues:
            address = (await admin.topics.brokers(order["topic"]))[0]
            for queue_id in range(data.read_queue_nums):
                queue = MessageQueue(order["topic"], data.broker_name, queue_id)
                found += await _pull_queue(admin, address, queue, order["expression"])
    return found


async def _pull_queue(
    admin: Admin, address: str, queue: MessageQueue, expression: str
) -> list[Fields]:
    found: list[Fields] = []
    offset = await admin.offsets.first(address, queue)
    end = await admin.offsets.end(address, queue)
    while offset < end:
        pulled = await admin.messages.pull(address, queue, offset, expression=expression)
        found += map(delivery, pulled.messages)
        offset = pulled.next_offset
    return found


def by_shard(queues: Sequence[MessageQueue], message: Message, key: object) -> MessageQueue:
    del key
    return queues[int(message.properties["shard"]) % len(queues)]


Member: TypeAlias = Sending | Consuming | Popping | Reading


class Driver:
    """Carries out orders."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}

    async def obey(self, line: bytes) -> None:
        order = json.loads(line)
        answer: Fields = {"id": order["id"]}
        try:
            answer["answer"] = await self._answer(order)
        except Exception:
            answer["error"] = traceback.format_exc()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()

    async def _answer(self, order: Fields) -> object:
        name, do = order["as"], order["do"]
        if do == "pull":
            return await pull(order)
        if do in ("produce", "consume", "read"):
            self._members[name] = self._made(order)
            await self._members[name].start()
            return None
        if do == "stop":
            await self._members[name].stop()
            return None
        act: Callable[[Fields], Awaitable[object]] = getattr(self._members[name], do)
        return await act(order)

    def _made(self, order: Fields) -> Member:
        if order["do"] == "produce":
            return Sending(order)
        if order["do"] == "read":
            return Reading(order)
        if order.get("pop"):
            return Popping(order)
        replier = self._members.get(order.get("replier", ""))
        return Consuming(order, replier if isinstance(replier, Sending) else None)


async def main() -> None:
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    driver = Driver()
    working: set[asyncio.Task[None]] = set()
    while line := await lines.readline():
        task = asyncio.create_task(driver.obey(line))
        working.add(task)
        task.add_done_callback(working.discard)


if __name__ == "__main__":
    asyncio.run(main())
