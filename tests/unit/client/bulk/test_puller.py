"""Bulk reads, at brokers of ours in processes of their own, and at a server that plays odd ones."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from gantrymq.client import Message
from gantrymq.client.blocking import Producer
from gantrymq.client.bulk import (
    BulkPuller,
    BulkSettings,
    OffsetGoneError,
    QueueRef,
    QueueTruncatedError,
)
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.group.subscriptions import Sql, subscription
from gantrymq.fakes.scripted_server import ScriptedServer
from gantrymq.testing.server import StandaloneServer
from gantrymq.wire import hosts, javajson
from gantrymq.wire.bodies.route import BrokerData, QueueData, TopicRouteData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.message.record import Record, decode_all, encode

QUEUE = QueueRef("T", "broker-a", 2)
COUNT = 700


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneServer]:
    """With messages 0 to 699 in QUEUE: each third has tag `third`."""
    flags = ["--set", "enablePropertyFilter=true"]
    with StandaloneServer(tmp_path_factory.mktemp("server"), flags) as running:
        fill(running, 0, COUNT)
        yield running


def fill(server: StandaloneServer, first: int, end: int) -> None:
    """Messages into QUEUE, numbered."""
    with Producer("P", name_servers=server.name_servers) as producer:
        for start in range(first, end, 100):
            batch = [message(number) for number in range(start, min(end, start + 100))]
            producer.send_batch(batch, queue=QUEUE)


def message(number: int) -> Message:
    tag = "third" if number % 3 == 0 else "other"
    return Message(QUEUE.topic, b"%d" % number, tag=tag, properties={"number": str(number)})


def settings(name_servers: str, **changes: float) -> BulkSettings:
    return BulkSettings(name_servers=(name_servers,), group="reader", **changes)  # type: ignore[arg-type]  # numbers only


def numbers(bodies: Iterator[bytes]) -> list[int]:
    return [int(record.body) for body in bodies for record in decode_all(body)]


@pytest.mark.parametrize(("start", "end"), [(0, COUNT), (0, 1), (17, 401), (699, 700), (5, 5)])
@pytest.mark.parametrize("depth", [1, 2, 7])
def test_range_comes_whole_and_in_order(
    server: StandaloneServer, start: int, end: int, depth: int
) -> None:
    with BulkPuller(settings(server.name_servers)) as puller:
        assert numbers(puller.pull(QUEUE, start, end, depth=depth)) == list(range(start, end))


@pytest.mark.parametrize("bytes_max", [1, 1000, 20_000])
def test_bytes_of_an_answer_are_bounded(server: StandaloneServer, bytes_max: int) -> None:
    with BulkPuller(settings(server.name_servers)) as puller:
        bodies = list(puller.pull(QUEUE, 0, 60, bytes_max=bytes_max, depth=3))
        assert numbers(iter(bodies)) == list(range(60))
        assert max(map(len, bodies)) <= max(bytes_max, 400)  # one message always comes


def test_broker_of_ours_gives_many_messages_at_once(server: StandaloneServer) -> None:
    with BulkPuller(settings(server.name_servers)) as puller:
        assert len(list(puller.pull(QUEUE, 0, COUNT))) == 1


@pytest.mark.parametrize("expression", ["third", Sql("number between 0 and 99")])
def test_broker_filters(server: StandaloneServer, expression: str | Sql) -> None:
    with BulkPuller(settings(server.name_servers)) as puller:
        subscribed = subscription("T", expression, 1)
        found = numbers(puller.pull(QUEUE, 0, COUNT, subscription=subscribed))
        expected = range(0, COUNT, 3) if expression == "third" else range(100)
        assert found == list(expected)


def test_filter_that_lets_nothing_through_ends_the_read(server: StandaloneServer) -> None:
    with BulkPuller(settings(server.name_servers)) as puller:
        subscribed = subscription("T", "no such tag", 1)
        assert list(puller.pull(QUEUE, 0, COUNT, subscription=subscribed)) == []


def test_filter_that_is_none_is_the_brokers_to_refuse(server: StandaloneServer) -> None:
    with (
        BulkPuller(settings(server.name_servers)) as puller,
        pytest.raises(BrokerError, match="SUBSCRIPTION_PARSE_FAILED"),
    ):
        list(puller.pull(QUEUE, 0, 1, subscription=subscription("T", Sql("a >"), 1)))


def test_queue_that_ends_before_the_range_counts_as_truncated(server: StandaloneServer) -> None:
    with BulkPuller(settings(server.name_servers, truncated_after_s=0.1)) as puller:
        found = puller.pull(QUEUE, 690, 720)
        assert numbers(iter([next(found)])) == list(range(690, 700))
        with pytest.raises(QueueTruncatedError) as lost:
            next(found)
        assert (lost.value.asked, lost.value.end, lost.value.end_of_queue) == (700, 720, 700)


def test_topic_and_broker_that_are_not_there_are_named(server: StandaloneServer) -> None:
    with BulkPuller(settings(server.name_servers, recover_s=0.1)) as puller:
        with pytest.raises(RouteError, match="no name server knows the topic U"):
            list(puller.pull(QueueRef("U", "broker-a", 0), 0, 1))
        with pytest.raises(RouteError, match="no broker named broker-z"):
            list(puller.pull(QueueRef("T", "broker-z", 0), 0, 1))


def test_read_that_is_given_up_disturbs_no_later_one(server: StandaloneServer) -> None:
    with BulkPuller(settings(server.name_servers)) as puller:
        given_up = puller.pull(QUEUE, 0, COUNT, bytes_max=5000, depth=4)
        next(given_up)
        given_up.close()  # type: ignore[attr-defined]  # it is a generator
        assert numbers(puller.pull(QUEUE, 300, 310)) == list(range(300, 310))


def test_two_reads_side_by_side_do_not_mix(server: StandaloneServer) -> None:
    with BulkPuller(settings(server.name_servers)) as puller:
        first = puller.pull(QUEUE, 0, 300, bytes_max=4000)
        second = puller.pull(QUEUE, 300, 600, bytes_max=4000)
        found: tuple[list[int], list[int]] = ([], [])
        for one, other in zip(first, second, strict=False):
            found[0].extend(numbers(iter([one])))
            found[1].extend(numbers(iter([other])))
        found[0].extend(numbers(first))
        found[1].extend(numbers(second))
        assert found == (list(range(300)), list(range(300, 600)))


def test_forked_process_reads_by_connections_of_its_own(server: StandaloneServer) -> None:
    fork = multiprocessing.get_context("fork")
    with BulkPuller(settings(server.name_servers)) as puller:
        here = puller.pull(QUEUE, 0, COUNT, bytes_max=5000)
        before = numbers(iter([next(here)]))
        ours, childs = fork.Pipe()
        child = fork.Process(target=_read_in_child, args=(puller, childs))
        child.start()
        assert ours.poll(30)
        assert ours.recv() == list(range(100))
        child.join()
        assert before + numbers(here) == list(range(COUNT))


def _read_in_child(puller: BulkPuller, result: Connection) -> None:
    result.send(numbers(puller.pull(QUEUE, 0, 100)))


def route_to(address: str, broker_id: int = 0) -> Command:
    """What a name server says of topic T."""
    data = TopicRouteData(
        queues=(QueueData("broker-a", 4, 4, 6),),
        brokers=(BrokerData("c", "broker-a", {broker_id: address}),),
    )
    return Command(0, body=javajson.dumps_fastjson(data.to_json()))


def test_broker_that_is_killed_and_comes_back_elsewhere_is_read_on(tmp_path: Path) -> None:
    server = StandaloneServer(tmp_path, ["--set", "flushDiskType=SYNC_FLUSH"])
    server.start()
    fill(server, 0, 300)
    with (
        ScriptedServer(lambda request: route_to(server.broker)) as names,
        BulkPuller(settings(names.address)) as puller,
    ):
        bodies = puller.pull(QUEUE, 0, 300, bytes_max=3000)
        found = numbers(iter([next(bodies)]))
        address = server.broker
        server.kill()
        server.start()
        assert server.broker != address
        assert found + numbers(bodies) == list(range(300))
    server.stop()


# ---------------------------------------------------------------------- odd brokers


Play = Callable[[int], Command]
"""The answer to a pull of this offset."""

HOST = hosts.parse("10.1.2.3:54321")


def stored(offset: int, count: int = 1) -> bytes:
    return b"".join(
        encode(
            Record(b"T", b"%d" % at, queue_offset=at, born_host=HOST, store_host=HOST, queue_id=2)
        )
        for at in range(offset, offset + count)
    )


def answer(code: int, following: int, low: int = 0, high: int = 100, body: bytes = b"") -> Command:
    ext = {
        "suggestWhichBrokerId": "0",
        "nextBeginOffset": str(following),
        "minOffset": str(low),
        "maxOffset": str(high),
    }
    return Command(code, ext=ext, body=body)


def read_from(play: Play, start: int, end: int, **changes: float) -> tuple[list[int], int]:
    """The messages, and how many pulls it took. One server plays name server and broker."""

    def respond(request: Command) -> Command:
        if request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            return route_to(odd.address)
        return play(int((request.ext or {})["queueOffset"]))

    with (
        ScriptedServer(respond) as odd,
        BulkPuller(settings(odd.address, **{"recover_s": 0.2, **changes})) as puller,
    ):
        found = numbers(puller.pull(QUEUE, start, end, depth=3))
    return found, sum(each.code == RequestCode.PULL_MESSAGE for each in odd.requests)


def test_broker_that_gives_few_messages_a_pull_is_read_whole() -> None:
    def play(offset: int) -> Command:
        count = min(8, 100 - offset)
        return answer(ResponseCode.SUCCESS, offset + count, body=stored(offset, count))

    found, pulls = read_from(play, 3, 100)
    assert found == list(range(3, 100))
    # Full answers let windows grow, which may cost a pull now and then.
    assert pulls <= 2 * (100 // 8 + 1)


def test_messages_that_retention_removed_are_named() -> None:
    with pytest.raises(OffsetGoneError, match="messages 5 to 39 any more") as gone:
        read_from(lambda offset: answer(ResponseCode.PULL_OFFSET_MOVED, 40, low=40), 5, 60)
    assert (gone.value.asked, gone.value.first_kept, gone.value.end_of_queue) == (5, 40, 100)


def test_messages_that_are_missing_in_front_of_an_answer_are_named() -> None:
    def play(offset: int) -> Command:
        return answer(ResponseCode.SUCCESS, 20, body=stored(12, 8))

    with pytest.raises(OffsetGoneError, match="messages 5 to 11 any more"):
        read_from(play, 5, 60)


def test_broker_that_is_busy_for_a_while_is_asked_again() -> None:
    refusals = iter([Command(ResponseCode.SYSTEM_BUSY), Command(ResponseCode.GO_AWAY)])

    def play(offset: int) -> Command:
        fine = answer(ResponseCode.SUCCESS, offset + 5, body=stored(offset, 5))
        return next(refusals, fine)

    assert read_from(play, 0, 5, recover_s=20.0) == (list(range(5)), 3)


def test_broker_that_stays_busy_is_given_up() -> None:
    with pytest.raises(BrokerError, match="SYSTEM_BUSY"):
        read_from(lambda offset: Command(ResponseCode.SYSTEM_BUSY), 0, 5)


def test_refusal_that_will_not_pass_is_raised_at_once() -> None:
    asked: list[int] = []

    def play(offset: int) -> Command:
        asked.append(offset)
        return Command(ResponseCode.NO_PERMISSION, remark="not for you")

    with pytest.raises(BrokerError, match="not for you"):
        read_from(play, 0, 5, recover_s=20.0)
    assert asked == [0]


def impatient(names: ScriptedServer) -> BulkSettings:
    return settings(names.address, truncated_after_s=0.01, recover_s=0.3)


def test_slave_that_is_behind_does_not_count_as_truncated() -> None:
    with ScriptedServer(lambda request: answer(ResponseCode.PULL_NOT_FOUND, 0, high=3)) as slave:
        with (
            ScriptedServer(lambda request: route_to(slave.address, broker_id=1)) as names,
            BulkPuller(impatient(names)) as puller,
            pytest.raises(QueueTruncatedError),
        ):
            list(puller.pull(QUEUE, 3, 9))
        assert len(slave.requests) > 2


def test_servers_that_are_not_there_are_named() -> None:
    with (
        BulkPuller(settings("127.0.0.1:1", recover_s=0.1)) as puller,
        pytest.raises(RouteError, match="connect to name servers failed"),
    ):
        list(puller.pull(QUEUE, 0, 1))
