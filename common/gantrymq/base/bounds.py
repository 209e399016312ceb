"""Defines bounds that more than one package needs: of integers, of frames and of time."""

from __future__ import annotations

from typing import Final

# Java's int and long.
INT_MIN: Final = -0x80000000
INT_MAX: Final = 0x7FFFFFFF
LONG_MIN: Final = -0x8000000000000000
LONG_MAX: Final = 0x7FFFFFFFFFFFFFFF

# A deadline of work that is not planned: later than every other time.
NEVER: Final = float("inf")

# Java's com.rocketmq.remoting.frameMaxLength: a peer may send frames up to this size, the length
# word included, and expects to be able to receive them.
FRAME_BYTES_MAX: Final = 16_777_216

# A header becomes many small objects of some twenty times its size, so it has a bound of its own.
# The longest honest one answers a batch of 65 536 messages with their ids: 2.1 MiB.
HEADER_BYTES_MAX: Final = 4_194_304
