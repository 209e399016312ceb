"""Defines `gantry queryMsgTraceById`, which shows a message's producer and consumers by traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame import timestamps
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import CommandError
from gantrymq.cli.frame.option import Option, Options, required
from gantrymq.cli.frame.page import Page, Table, Text, page
from gantrymq.client.core.admin.messages import TIME_MAX
from gantrymq.client.core.admin.traces import Trace, TraceKind, traces_of
from gantrymq.client.core.message.namespace import TRACE_TOPIC

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration

_FORM: Final = "%-10s %-20s %-20s %-20s %-10s %-10s"


async def query(admin: Administration, options: Options) -> Page:
    message_id, topic = options.text("msgId"), options.text("traceTopic", TRACE_TOPIC)
    found = await admin.messages.by_key(
        topic,
        message_id,
        most=options.number("maxNum", 64),
        begin_ms=options.number("beginTimestamp", 0),
        end_ms=options.number("endTimestamp", TIME_MAX),
    )
    if not found:
        raise CommandError(
            f"CODE: 208  DESC: query message by key finished, but no message: {topic} has no trace"
            f" of {message_id}, or the trace has expired; tracing needs traceTopicEnable=true at"
            " brokers, and trace=True at clients"
        )
    traces = [each for message in found for each in traces_of(message_id, message)]
    sent = [each for each in traces if each.kind is TraceKind.SENT]
    consumed = [each for each in traces if each.kind is TraceKind.CONSUMED]
    groups = sorted({each.group for each in consumed})
    return page(
        *(_part("sent", "Producer", [each]) for each in sent),
        *(
            _part("consumed", "Consumer", [each for each in consumed if each.group == group])
            for group in groups
        ),
    )


def _part(name: str, role: str, traces: list[Trace]) -> Text:
    """Make a table for each send, and one for each group that consumed, as mqadmin does."""
    moment = "#SendTime" if name == "sent" else "#ConsumerTime"
    titles = ("#Type", f"#{role}Group", "#ClientHost", moment, "#CostTimes", "#Status")
    table = Table(name, titles, _FORM, [_row(each) for each in traces])
    return Text(name, [*table.lines(), ""], table.json(), is_one_of_many=True)


def _row(trace: Trace) -> tuple[str, ...]:
    return (
        "Pub" if trace.kind is TraceKind.SENT else "Sub",
        trace.group,
        trace.client_host,
        timestamps.second(trace.at_ms),
        f"{trace.cost_ms}ms",
        "success" if trace.is_success else "failed",
    )


COMMANDS: Final = {
    "queryMsgTraceById": Command(
        "queryMsgTraceById",
        (
            required("i", "msgId", "message id"),
            Option("t", "traceTopic", f"the topic of traces ({TRACE_TOPIC})"),
            Option("b", "beginTimestamp", "stored then or later, in milliseconds"),
            Option("e", "endTimestamp", "stored then or before, in milliseconds"),
            Option("c", "maxNum", "the most messages of each broker (64)"),
        ),
        query,
    )
}
