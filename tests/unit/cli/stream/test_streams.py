"""Tests produce, consume, tail and bench with a broker in virtual time."""

from __future__ import annotations

import asyncio
import base64
import json
import shlex
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from gantrymq.cli import catalog
from gantrymq.cli.catalog import load
from gantrymq.cli.frame.arguments import CommandLine, parse
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.page import Page
from gantrymq.cli.frame.stream import Stream
from gantrymq.cli.frame.stream_command import StreamCommand
from gantrymq.cli.stream.consuming import content
from gantrymq.client.core.errors import RouteError
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.testing.embedded import EmbeddedBroker
from gantrymq.wire.message.sys_flag import COMPRESSED


@dataclass
class Lines:
    """Lines in place of standard input."""

    batch: list[bytes] = field(default_factory=list)
    times: int = 1
    read: int = 0

    async def batches(self) -> AsyncIterator[list[bytes]]:
        for _ in range(self.times):
            self.read += 1
            yield list(self.batch)

    async def whole(self) -> AsyncIterator[list[bytes]]:
        yield [b"\n".join(self.batch)]


class Written:
    """Records writes in place of standard output; the pipe closes after a number of writes."""

    def __init__(self, writes_max: int = 1 << 30) -> None:
        self.content = b""
        self._left = writes_max

    async def write(self, content: bytes) -> None:
        if not self._left:
            raise BrokenPipeError
        self._left -= 1
        self.content += content

    @property
    def lines(self) -> list[str]:
        return self.content.decode().splitlines()


class Terminal:
    """Runs command lines of stream commands."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.broker = broker
        self.source = Lines()
        self.output = Written()
        self.said: list[str] = []

    async def run(self, line: str) -> Page:
        return await self.broker.run(self.start(line))

    async def start(self, line: str) -> Page:
        name, *words = shlex.split(line)
        entry = catalog.find(name)
        assert entry is not None
        command = load(entry)
        assert isinstance(command, StreamCommand)
        asked = parse(command, entry.about, words)
        assert isinstance(asked, CommandLine), line
        stream = Stream(
            {"name_servers": self.broker.name_servers},
            form=asked.form,
            environment=self.broker,
            source=self.source,
            output=self.output,
            say=self.said.append,
        )
        return await command.run(stream, asked.options)

    def bodies(self, topic: str = "T") -> list[bytes]:
        return [message.body for message in self.broker.messages(topic)]


@pytest.fixture
def terminal() -> Terminal:
    """A terminal of a cluster that has a topic T of four queues."""
    broker = EmbeddedBroker()
    broker.create_topic("T", queues=4)
    return Terminal(broker)


# ---------------------------------------------------------------------- produce


async def test_arguments_are_messages(terminal: Terminal) -> None:
    page = await terminal.run("produce a b -t T --tag Tag -k k1 -k k2 -p colour=blue")
    first, second = terminal.broker.messages("T")
    assert [first.body, second.body] == [b"a", b"b"]
    assert (first.tag, first.keys) == ("Tag", ["k1", "k2"])
    assert first.properties["colour"] == "blue"
    titles, row, _, summary = page.text().splitlines()
    assert titles.startswith("#Broker Name")
    assert row.split()[2:] == ["SEND_OK", first.id]
    assert summary.startswith("sent 2 messages of 2 bytes in ")
    assert page.json()["summary"]["sent"] == 2  # type: ignore[index,call-overload]  # an object


async def test_lines_are_messages(terminal: Terminal) -> None:
    terminal.source = Lines([b"a", b"b"], times=3)
    page = await terminal.run("produce -t T")
    assert sorted(terminal.bodies()) == [b"a", b"a", b"a", b"b", b"b", b"b"]
    assert len(page.text().splitlines()) == 1


async def test_whole_input_may_be_one_message(terminal: Terminal) -> None:
    terminal.source = Lines([b"a", b"b"])
    await terminal.run("produce -t T --whole")
    assert terminal.bodies() == [b"a\nb"]


async def test_a_count_ends_input_or_repeats_arguments(terminal: Terminal) -> None:
    terminal.source = Lines([b"a", b"b"], times=1_000_000)
    await terminal.run("produce -t T --count 3")
    assert sorted(terminal.bodies()) == [b"a", b"a", b"b"]
    assert terminal.source.read == 2
    await terminal.run("produce -t T x y --count 5")
    assert len(terminal.bodies()) == 8


async def test_input_is_read_only_as_fast_as_it_is_sent(terminal: Terminal) -> None:
    terminal.source = Lines([b"x" * 100_000] * 10, times=1_000_000)
    with terminal.broker.unreachable():
        page = await terminal.run("produce -t T --keep-going --count 1000")
    assert terminal.source.read == 100
    assert page.failures
    assert terminal.bodies() == []


async def test_messages_are_sent_at_a_rate(terminal: Terminal) -> None:
    began = terminal.broker.now
    await terminal.run("produce -t T x --count 11 --rate 2")
    assert 5.0 <= terminal.broker.now - began < 5.1


async def test_a_delay_level_delays_messages(terminal: Terminal) -> None:
    await terminal.run("produce -t T late -d 3")
    assert terminal.bodies() == []
    await terminal.broker.expect("T", [b"late"], within_s=11)


async def test_all_messages_go_to_one_queue(terminal: Terminal) -> None:
    await terminal.run("produce -t T x --count 40 --queue broker-a:2")
    assert {message.queue.queue_id for message in terminal.broker.messages("T")} == {2}
    await terminal.run("produce -t T y --order-by 4711")
    await terminal.run("produce -t T y --order-by 4711")
    ordered = [each for each in terminal.broker.messages("T") if each.body == b"y"]
    assert len({message.queue for message in ordered}) == 1
    assert ordered[0].properties["__SHARDINGKEY"] == "4711"


async def test_failed_messages_are_reported_by_number(terminal: Terminal) -> None:
    terminal.source = Lines([b"a", b"", b"", b"b", b""])
    page = await terminal.run("produce -t T")
    assert sorted(terminal.bodies()) == [b"a", b"b"]
    assert [line.partition(" brokers")[0] for line in terminal.said] == [
        "gantry produce: message 2 to 3: the message body length is zero:",
        "gantry produce: message 5: the message body length is zero:",
    ]
    assert [str(each) for each in page.failures] == ["3 of 5 messages were not acknowledged"]


async def test_a_broker_that_is_down_ends_produce(terminal: Terminal) -> None:
    terminal.source = Lines([b"x" * 5000] * 10, times=1_000_000)
    with terminal.broker.unreachable():
        page = await terminal.run("produce -t T")
    assert terminal.source.read < 10_000
    assert "no message was sent after them" in str(page.failures[0])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("produce -t T a --file x", "not in both"),
        ("produce -t T a -p colour", "NAME=VALUE"),
        ("produce -t T a --queue 2", "BROKER:NUMBER"),
        ("produce -t T a --queue broker-a:9", "has no queue broker-a:9 to write"),
        ("produce -t T a --queue broker-a:1 --order-by x", "exclude each other"),
        ("produce -t T a --rate 0", "above 0"),
        ("produce -t T a --count none", "whole number"),
        ("consume -t T --from yesterday", "--from must be first, last, offset:N or a time"),
        ("consume -t T --from offset:x", "whole number"),
        ("consume -t T --from offset:9223372036854775808", "at most"),
        ("consume -t T --from offset:" + "9" * 5_000, "at most"),
        ("consume -t T -g G --from offset:1", "its own offsets"),
        ("consume -t T --filter A --sql 'a = 1'", "exclude each other"),
        ("consume -t T --timeout 0", "above 0"),
        ("tail -t T --queue x", "BROKER:NUMBER"),
    ],
)
async def test_invalid_options_are_refused(terminal: Terminal, line: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        await terminal.run(line)


async def test_an_invalid_topic_name_is_refused(terminal: Terminal) -> None:
    with pytest.raises(UsageError, match="illegal characters"):
        await terminal.run("produce -t 'a b' x")


# ---------------------------------------------------------------------- consume


async def test_a_topic_is_read_without_a_group(terminal: Terminal) -> None:
    await terminal.run("produce -t T a b c")
    await terminal.run("consume -t T --output body --timeout 1")
    assert sorted(terminal.output.lines) == ["a", "b", "c"]


async def test_text_has_titles_and_one_line_each(terminal: Terminal) -> None:
    terminal.source = Lines([b"one\ttwo\x1b[31m\xff", b"three\nfour"])
    await terminal.run("produce -t T --whole --tag Tag")
    await terminal.run("consume -t T --count 1")
    titles, line = terminal.output.lines
    assert titles.split() == ["#Stored", "#Queue", "#Offset", "#Tag", "#Body"]
    assert line.endswith("  Tag           one\ttwo\\x1b[31m\\xff\\nthree\\nfour")


async def test_json_has_bodies_of_all_kinds(terminal: Terminal) -> None:
    terminal.source = Lines([b"text", b"\xff\x00"])
    await terminal.run("produce -t T --queue broker-a:1")
    await terminal.run("consume -t T --output json --timeout 1")
    first, second = (json.loads(line) for line in terminal.output.lines)
    assert (first["body"], first["queueId"], first["queueOffset"]) == ("text", 1, 0)
    assert "MAX_OFFSET" not in first["properties"]
    assert base64.b64decode(second["bodyBase64"]) == b"\xff\x00"
    assert "body" not in second


async def test_reading_begins_at_the_chosen_offset(terminal: Terminal) -> None:
    await terminal.run("produce -t T a b c --queue broker-a:0")
    await terminal.broker.advance(minutes=1)
    moment_ms = terminal.broker.clock.wall_ms()
    await terminal.run("produce -t T d --queue broker-a:0")
    for options, expected in (
        ("--from offset:1", ["b", "c", "d"]),
        (f"--from {moment_ms}", ["d"]),
        ("--from last", []),
        ("--queue broker-a:0 --from first --count 2", ["a", "b"]),
    ):
        terminal.output = Written()
        await terminal.run(f"consume -t T --output body --timeout 1 {options}")
        assert terminal.output.lines == expected


async def test_tags_are_filtered(terminal: Terminal) -> None:
    await terminal.run("produce -t T a --tag A")
    await terminal.run("produce -t T b --tag B")
    await terminal.run("consume -t T --output body --timeout 1 --filter 'B || C'")
    assert terminal.output.lines == ["b"]


async def test_properties_are_filtered(terminal: Terminal) -> None:
    await terminal.run("produce -t T dear -p price=9")
    await terminal.run("produce -t T cheap -p price=1")
    await terminal.run("consume -t T --output body --timeout 1 --sql 'price > 3'")
    assert terminal.output.lines == ["dear"]


async def test_a_groups_offsets_cover_what_was_written(terminal: Terminal) -> None:
    await terminal.run("produce -t T a b c d e --queue broker-a:0")
    await terminal.run("consume -t T -g G --from first --count 2 --output body")
    assert terminal.output.lines == ["a", "b"]
    assert terminal.broker.progress("G", "T").consumed == 2
    await terminal.run("consume -t T -g G --timeout 5 --output body")
    assert terminal.output.lines == ["a", "b", "c", "d", "e"]
    assert terminal.broker.progress("G", "T").lag == 0


async def test_messages_beyond_the_count_are_not_consumed(terminal: Terminal) -> None:
    for queue in range(2):
        await terminal.run(f"produce -t T a b --queue broker-a:{queue}")
    await terminal.run("consume -t T -g G --from first --count 3 --output body")
    assert len(terminal.output.lines) == 3
    assert terminal.broker.progress("G", "T").lag == 1


async def test_messages_that_were_not_written_are_not_consumed(terminal: Terminal) -> None:
    await terminal.run("produce -t T a b c --queue broker-a:0")
    terminal.output = Written(writes_max=0)
    with pytest.raises(BrokenPipeError):
        await terminal.run("consume -t T -g G --from first --output body")
    assert terminal.broker.progress("G", "T").consumed == 0


async def test_fewer_messages_than_the_count_is_a_failure(terminal: Terminal) -> None:
    await terminal.run("produce -t T a")
    page = await terminal.run("consume -t T --count 2 --timeout 3 --output body")
    (failure,) = page.failures
    assert isinstance(failure, CommandError)
    assert str(failure) == "1 of 2 messages arrived, then none for 3 s"


@pytest.mark.parametrize("options", ["", "-g G"])
async def test_an_unknown_topic_is_an_error(terminal: Terminal, options: str) -> None:
    with pytest.raises(RouteError, match="No route info of this topic: None"):
        await terminal.run(f"consume -t None {options}")


# ---------------------------------------------------------------------- tail


async def test_tail_follows_a_topic_and_leaves_no_group(terminal: Terminal) -> None:
    await terminal.run("produce -t T old")
    following = asyncio.create_task(terminal.start("tail -t T --output body"))
    await terminal.broker.settle()
    for queue in range(4):
        await terminal.run(f"produce -t T new{queue} --queue broker-a:{queue}")
    await terminal.broker.settle()
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    assert sorted(terminal.output.lines) == ["new0", "new1", "new2", "new3"]
    assert terminal.broker.progress("TOOLS_CONSUMER", "T").consumed == 0


async def test_a_damaged_message_is_reported(terminal: Terminal) -> None:
    """The other messages are written."""
    await terminal.run("produce -t T a")
    (message,), (damaged,) = (terminal.broker.messages("T") for _ in range(2))
    damaged.record.sys_flag |= COMPRESSED
    stream = Stream({}, say=terminal.said.append)
    both = [ReceivedMessage(damaged.record, message.queue), message]
    assert content(stream, "body", both) == b"a\n"
    assert "cannot be read" in terminal.said[0]
