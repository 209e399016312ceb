"""Defines bounds that more than one package needs, each with its reason."""

from __future__ import annotations

from typing import Final

# Java's com.rocketmq.remoting.frameMaxLength: a peer may send frames up to this size, the length
# word included, and expects to be able to receive them.
FRAME_BYTES_MAX: Final = 16_777_216

# A header becomes many small objects of some twenty times its size, so it has a bound of its own.
# The longest honest one answers a batch of 65 536 messages with their ids: 2.1 MiB.
HEADER_BYTES_MAX: Final = 4_194_304
