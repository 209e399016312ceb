"""Bounds that more than one package needs, each with its reason."""

from __future__ import annotations

from typing import Final

# Java's com.rocketmq.remoting.frameMaxLength: a peer may send, and expects to be able to receive,
# frames up to this size, the length word included.
FRAME_BYTES_MAX: Final = 16_777_216

# A header becomes many small objects, some twenty times its size, so it gets a bound of its own.
# The longest honest one answers a batch of 65 536 messages with their ids: 2.1 MiB.
HEADER_BYTES_MAX: Final = 4_194_304
