"""Bounds that more than one package needs, each with its reason."""

from __future__ import annotations

from typing import Final

# Java's com.rocketmq.remoting.frameMaxLength: a peer may send, and expects to be able to receive,
# frames up to this size. Counts everything after the length word itself.
FRAME_BYTES_MAX: Final = 16_777_216

# The header length travels in 24 bits.
HEADER_BYTES_MAX: Final = 0xFFFFFF
