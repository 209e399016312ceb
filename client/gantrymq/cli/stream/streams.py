"""`gantry produce`, `consume`, `tail` and `bench`: their options; what they do is loaded later.

Help needs none of what connects, and asyncio alone takes longer than all the rest.
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
_SQL: Final = Option("", "sql", "only where this is true of the properties: price > 3")
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
                    "the messages; without any, the lines of --file or of standard input",
                    is_positional=True,
                    is_repeated=True,
                ),
                _TOPIC,
                Option("f", "file", "a message for each line of this file"),
                flag("", "whole", "the file, or standard input, is one message"),
                Option("k", "key", "a key of each message", is_repeated=True),
                Option("", "tag", "their tag"),
                Option("p", "property", "NAME=VALUE, of each message", is_repeated=True),
                Option(
                    "c", "count", "so many messages: those given, again and again; lines at most"
                ),
                Option("r", "rate", "so many a second"),
                Option("d", "delay-level", "consumers get them later: 1 to 18, brokers' levels"),
                Option("q", "queue", "all to this queue: BROKER:NUMBER"),
                Option("", "order-by", "all to one queue, the same for the same text"),
                flag("", "keep-going", "go on after a message that no broker took"),
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
                    "as a member of this group; without, nobody's offsets move",
                ),
                Option(
                    "",
                    "from",
                    "first, last, offset:N, now, milliseconds or yyyy-MM-dd#HH:mm:ss:SSS (first; of"
                    " a group that has no offset yet: last)",
                ),
                _FILTER,
                _SQL,
                Option("q", "queue", "only this queue: BROKER:NUMBER"),
                Option("c", "count", "end after so many messages"),
                Option("", "timeout", "end when none came for so many seconds"),
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
                Option("s", "size", "bytes of each message (128)"),
                Option("k", "tasks", "so many tasks await sends (64)"),
                Option("i", "seconds", "for so long (10)"),
                flag("", "soon", "one task gathers batches instead"),
            ),
            _bench,
        ),
    )
}
