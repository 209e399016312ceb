"""Declares the options of `gantry produce`, `consume`, `tail` and `bench`.

The code of the commands is imported only when one runs. Help does not need it, and importing
asyncio alone takes longer than all the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame.option import Option, Options, flag, required
from gantrymq.cli.frame.page import Page
from gantrymq.cli.frame.stream_command import StreamCommand

if TYPE_CHECKING:
    from gantrymq.cli.frame.stream import Stream


async def _produce(stream: Stream, options: Options) -> Page:
    from gantrymq.cli.stream.producing import produce  # noqa: PLC0415 - see above

    return await produce(stream, options)


async def _consume(stream: Stream, options: Options) -> Page:
    from gantrymq.cli.stream.consuming import consume  # noqa: PLC0415 - see above

    return await consume(stream, options)


async def _tail(stream: Stream, options: Options) -> Page:
    from gantrymq.cli.stream.consuming import tail  # noqa: PLC0415 - see above

    return await tail(stream, options)


async def _bench(stream: Stream, options: Options) -> Page:
    from gantrymq.cli.stream.benching import bench  # noqa: PLC0415 - see above

    return await bench(stream, options)


_TOPIC: Final = required("t", "topic", "topic name")
_FILTER: Final = Option("s", "filter", "only these tags: TagA || TagB")
_SQL: Final = Option("", "sql", "only messages whose properties match: price > 3")
_MESSAGE_FORMS: Final = ("text", "json", "body")

COMMANDS: Final = {
    command.name: command
    for command in (
        StreamCommand(
            "produce",
            (
                Option(
                    "",
                    "body",
                    "the messages; without any, the lines of --file or standard input",
                    is_positional=True,
                    is_repeated=True,
                ),
                _TOPIC,
                Option("f", "file", "send a message for each line of this file"),
                flag("", "whole", "send the file, or standard input, as one message"),
                Option("k", "key", "a key of each message", is_repeated=True),
                Option("", "tag", "the tag of each message"),
                Option("p", "property", "NAME=VALUE, a property of each", is_repeated=True),
                Option(
                    "c",
                    "count",
                    "the number of messages: given ones are repeated, lines end at it",
                ),
                Option("r", "rate", "the messages per second"),
                Option("d", "delay-level", "deliver them later: 1 to 18, the brokers' levels"),
                Option("q", "queue", "send all to this queue: BROKER:NUMBER"),
                Option("", "order-by", "send all to one queue, the same for the same text"),
                flag("", "keep-going", "continue after a message that no broker accepted"),
            ),
            _produce,
        ),
        StreamCommand(
            "consume",
            (
                _TOPIC,
                Option(
                    "g",
                    "consumerGroup",
                    "read as a member of this group; without it no offset moves",
                ),
                Option(
                    "",
                    "from",
                    "first, last, offset:N, now, milliseconds or yyyy-MM-dd#HH:mm:ss:SSS (first;"
                    " for a group without offsets: last)",
                ),
                _FILTER,
                _SQL,
                Option("q", "queue", "only this queue: BROKER:NUMBER"),
                Option("c", "count", "end after this number of messages"),
                Option("", "timeout", "end after this number of seconds without a message"),
            ),
            _consume,
            _MESSAGE_FORMS,
        ),
        StreamCommand(
            "tail",
            (_TOPIC, _FILTER, _SQL, Option("q", "queue", "only this queue: BROKER:NUMBER")),
            _tail,
            _MESSAGE_FORMS,
        ),
        StreamCommand(
            "bench",
            (
                Option(
                    "",
                    "what",
                    "produce, consume, or both",
                    is_positional=True,
                    choices=("produce", "consume", "both"),
                ),
                _TOPIC,
                Option("s", "size", "the bytes of each message (128)"),
                Option("k", "tasks", "the number of tasks that await sends (64)"),
                Option("i", "seconds", "how long to measure (10)"),
                flag("", "soon", "use one task that gathers batches"),
            ),
            _bench,
        ),
    )
}
