"""Parses the options of a write into a value that is sent to executors."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from gantrymq.client.bulk import BulkSettings
from gantrymq.client.bulk.sender import SendLimits
from gantrymq.spark.options import table
from gantrymq.spark.options.connection import ConnectionOptions, connection_options
from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.options.values import OptionValues
from gantrymq.spark.source.client_keywords import client_tls

PRODUCER_GROUP: Final = "spark-sink"

# It is a part of each stored message.
_SINK_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


@final
@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of one write, batch or stream."""

    connection: ConnectionOptions
    topic: str | None
    """None if the column `topic` names it."""
    group: str
    is_idempotent: bool
    sink_id: str | None
    limits: SendLimits

    def settings(self) -> BulkSettings:
        """Return the connection settings; the process that calls it reads the secret files."""
        connection = self.connection
        return BulkSettings(
            name_servers=connection.name_servers,
            group=self.group,
            credentials_file=connection.credentials_file or "",
            tls=client_tls(connection),
        )


def write_options(
    texts: Mapping[str, str], *, is_stream: bool, environment: Mapping[str, str] = os.environ
) -> WriteOptions:
    """Raises RocketMQOptionError."""
    values = OptionValues(texts)
    sink_id = values.find(table.SINK_ID)
    if sink_id is not None and not _SINK_ID.fullmatch(sink_id):
        raise RocketMQOptionError.of(
            table.SINK_ID.name, sink_id, "1 to 64 letters, digits, dots, hyphens and underscores"
        )
    delivery = values.find(table.DELIVERY)
    if delivery is None:
        delivery = "idempotent" if is_stream or sink_id is not None else "at-least-once"
    is_idempotent = delivery == "idempotent"
    if is_idempotent and not is_stream and sink_id is None:
        raise RocketMQOptionError(
            "option delivery=idempotent of a batch needs the option sinkId: a name for this write"
            " alone, the same when it is run again"
        )
    limits = SendLimits(
        max_in_flight=values.get(table.MAX_IN_FLIGHT),
        messages_per_second=values.find(table.RATE_LIMIT),
    )
    return WriteOptions(
        connection_options(values, environment),
        _topic(values),
        values.find(table.GROUP) or PRODUCER_GROUP,
        is_idempotent,
        sink_id,
        limits,
    )


def _topic(values: OptionValues) -> str | None:
    topics = values.find(table.TOPIC)
    if topics is None:
        return None
    if len(topics) > 1:
        raise RocketMQOptionError.of(
            table.TOPIC.name,
            ",".join(topics),
            "one topic to a write, or none, and name topics in the column topic",
        )
    return topics[0]
