"""Computes the memory of messages that wait for acknowledgement, for the limit waiting_bytes_max.

    in a batch       its part of the batch + SENDING_BYTES; with hooks also its body + OBJECT_BYTES
    sent alone       its size as `split` counts it + SENDING_BYTES + OBJECT_BYTES + BATCH_BYTES
    each batch       BATCH_BYTES

Encoded parts count with their size; the constants below estimate the objects around them.
"""

from __future__ import annotations

from typing import Final

from gantrymq.client.core.errors import MessageError
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.send_request import must_fit
from gantrymq.wire.message.batch import FIXED_BYTES

# Memory of a message besides its part of the batch: its id and its Sending.
SENDING_BYTES: Final = 176

# Memory of a message, besides body and properties, if the Message object is kept.
OBJECT_BYTES: Final = 320

# Memory of a batch and the flow that sends it: much more than a short message.
BATCH_BYTES: Final = 3_072

# Size of a unique id with its terminator in the properties of a message.
_ID_BYTES: Final = 33


def must_fit_list(
    pattern: Message,
    bodies: list[bytes],
    start_bytes: int,
    alone_bytes: int,
    *,
    settings: ProducerSettings,
    has_hooks: bool,
) -> int:
    """Check that all bodies can be sent and may wait together; raises MessageError if not. Returns
    the size of the longest body.

    `start_bytes` is the size of the encoded properties without the id; bodies of `alone_bytes` or
    more are sent alone.
    """
    must_fit(pattern.topic, 1, settings)
    each, copies = SENDING_BYTES + FIXED_BYTES + start_bytes + _ID_BYTES, 1
    if has_hooks:
        each, copies = each + OBJECT_BYTES, 2
    longest = total = 0
    for index, body in enumerate(bodies):
        size = len(body)
        if size == 0 or size > settings.message_bytes_max:
            try:
                must_fit(pattern.topic, size, settings)
            except MessageError as error:
                raise MessageError(f"none was taken, because of body {index}: {error}") from None
        longest = max(longest, size)
        total += copies * size + each
        if size >= alone_bytes:
            total += BATCH_BYTES
    if total > settings.waiting_bytes_max:
        raise MessageError(
            f"{len(bodies)} messages need {total} bytes, more than the"
            f" {settings.waiting_bytes_max} that may wait (waiting_bytes_max); none was taken:"
            " give shorter lists"
        )
    return longest
