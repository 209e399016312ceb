"""Decodes stored messages into the record batch that Spark asks for.

Invariant: the batch has exactly the messages of the buffer whose queue offset is in the requested
range, in order; otherwise FrameError is raised. The CRC of each body is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from gantrymq.base.errors import CorruptionError, RemoteError
from gantrymq.spark.columns import COLUMNS, PROPERTIES, column_named
from gantrymq.spark.frames import contents
from gantrymq.spark.frames.stored import StoredFrames
from gantrymq.wire.message.frame_walk import walk
from gantrymq.wire.message.sys_flag import NEED_UNWRAP

if TYPE_CHECKING:
    from collections.abc import Callable

    from gantrymq.spark.frames.arrays import AnyArray


class FrameError(CorruptionError):
    """Stored messages that cannot be decoded; the text names the broker and the queue offsets."""


def decode(
    buffer: bytes | bytearray | memoryview,
    broker_name: str,
    schema: pa.Schema,
    *,
    first_offset: int,
    end_offset: int,
) -> pa.RecordBatch:
    """Return the messages of [first_offset, end_offset) with the columns of the schema in order."""
    data = buffer if isinstance(buffer, bytes) else bytes(buffer)
    try:
        frames = StoredFrames(data, walk(data, first_offset, end_offset))
        _refuse_inner_batches(frames.frames.sys_flags)
        arrays = [_array(frames, broker_name, field) for field in schema]
    except (CorruptionError, RemoteError) as error:
        raise FrameError(
            f"messages {first_offset} to {end_offset} of a queue of broker {broker_name} cannot be"
            f" decoded: {error}; see what the broker has stored: gantry store check"
        ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _refuse_inner_batches(sys_flags: int) -> None:
    """Raise FrameError for records of inner batches, whose messages would become one row."""
    if sys_flags & NEED_UNWRAP:
        raise RemoteError(
            "the topic stores batches as one record (queue.type=BatchCQ), and these are not read;"
            " read a topic whose queue.type is SimpleCQ"
        )


def _array(frames: StoredFrames, broker_name: str, field: pa.Field[Any]) -> AnyArray:
    column = column_named(field.name)
    if column is None:
        raise KeyError(f"{field.name} is no column of the format rocketmq")
    array: AnyArray
    if frames.count == 0:
        array = pa.array([], field.type)
    elif column.name == "brokerName":
        array = pa.repeat(pa.scalar(broker_name), frames.count)
    elif column.name == PROPERTIES and not pa.types.is_map(field.type):
        array = contents.properties_json(frames)
    else:
        array = _BUILDERS[column.name](frames)
    if array.type != field.type:
        array = array.cast(field.type)
    return array


_BUILDERS: Final[Mapping[str, Callable[[StoredFrames], AnyArray]]] = {
    "topic": contents.topics,
    "flag": lambda frames: contents.ints(frames, "flag"),
    "body": contents.bodies,
    PROPERTIES: contents.properties_map,
    "queueId": lambda frames: contents.ints(frames, "queueId"),
    "queueOffset": lambda frames: contents.longs(frames, "queueOffset"),
    "bornTimestamp": contents.born_timestamps,
    "storeTimestamp": contents.store_timestamps,
    "keys": contents.keys,
    "tags": contents.tags,
    "msgId": contents.message_ids,
    "uniqKey": contents.unique_keys,
    "bornHost": contents.born_hosts,
    "storeHost": contents.store_hosts,
    "sysFlag": lambda frames: contents.ints(frames, "sysFlag"),
    "reconsumeTimes": contents.reconsume_times,
    "commitLogOffset": lambda frames: contents.longs(frames, "commitLogOffset"),
}

assert {*_BUILDERS, "brokerName"} == {column.name for column in COLUMNS}, "a column has no builder"
