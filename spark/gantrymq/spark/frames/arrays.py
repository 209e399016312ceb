"""Makes Arrow arrays from pieces of a buffer, and from other values.

Spark takes string and binary arrays with 32-bit offsets only. Strings must be UTF-8: RocketMQ
brokers store what producers send, so bytes that are not UTF-8 become U+FFFD here, as in Java.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gantrymq.base.errors import RemoteError
from gantrymq.spark.columns import BINARY, STRING
from gantrymq.wire import java_string

if TYPE_CHECKING:  # pyarrow's classes take no type arguments when they run
    AnyArray: TypeAlias = pa.Array[Any]  # Any: the type that an array has is a value

VALUES_BYTES_MAX: Final = 2**31 - 1
POSITION_BYTES: Final = 4


def taken(
    kind: pa.DataType,
    buffer: bytes,
    positions: bytes,
    numbers: NDArray[np.int64],
    is_null: NDArray[np.bool_] | None = None,
) -> AnyArray:
    """Return the numbered pieces of the buffer, which `positions` cut it into; or nulls.

    The pieces are copied once, and the buffer is not copied.
    """
    pieces = len(positions) // POSITION_BYTES - 1
    buffers = [None, pa.py_buffer(positions), pa.py_buffer(buffer)]
    indices = pa.array(numbers, pa.int64(), mask=is_null)
    array = pa.Array.from_buffers(BINARY, pieces, buffers).take(indices)
    return array if kind == BINARY else as_text(array)


def binary_array(values: Sequence[bytes]) -> AnyArray:
    """Return an array of binary values without nulls."""
    lengths = np.fromiter(map(len, values), np.int32, len(values))
    buffers = [None, pa.py_buffer(offsets_of(lengths).data), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(BINARY, len(values), buffers)


def repeated_array(texts: Sequence[str | None], indices: NDArray[np.int32]) -> AnyArray:
    """Return an array with the text of each index; few different texts are repeated."""
    return pa.array(texts, STRING).take(pa.array(indices, pa.int32()))


def offsets_of(lengths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return where values of these lengths begin, and where the last one ends."""
    total = int(lengths.sum(dtype=np.int64))
    if total > VALUES_BYTES_MAX:
        raise RemoteError(
            f"{len(lengths)} values have {total} bytes, an Arrow array holds {VALUES_BYTES_MAX};"
            " read fewer messages at once: lower pullBytes"
        )
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def as_text(array: AnyArray) -> AnyArray:
    """Return the binary array as an array of texts."""
    text = array.view(STRING)
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        stored = array.to_pylist()
        return pa.array(
            [None if each is None else java_string.utf8_text(each) for each in stored], STRING
        )
    return text
