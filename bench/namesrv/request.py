"""Encodes requests byte for byte as a Java 5.3.3 client writes them.

    int32 total | int32 encoding << 24 | header length | header | body

The module shares no code with the product; the same bytes go to both servers.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence

GET_ROUTEINFO_BY_TOPIC = 105
JAVA_5_3_3 = 479


def json_request(code: int, ext: Mapping[str, str], opaque: int, body: bytes = b"") -> bytes:
    """A frame as a Java client writes it: keys in alphabetical order, no spaces."""
    fields = {
        "code": code,
        "extFields": ext,
        "flag": 0,
        "language": "JAVA",
        "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON",
        "version": JAVA_5_3_3,
    }
    header = json.dumps(fields, separators=(",", ":")).encode()
    return struct.pack(">ii", 4 + len(header) + len(body), len(header)) + header + body


def binary_request(code: int, ext: Mapping[str, str], opaque: int, body: bytes = b"") -> bytes:
    """The same frame in the ROCKETMQ header encoding."""
    pairs = b"".join(
        struct.pack(">h", len(key)) + key.encode() + struct.pack(">i", len(value)) + value.encode()
        for key, value in ext.items()
    )
    fixed = struct.pack(">hbhiiii", code, 0, JAVA_5_3_3, opaque, 0, 0, len(pairs))
    header = fixed + pairs
    return struct.pack(">ii", 4 + len(header) + len(body), 1 << 24 | len(header)) + header + body


def route_requests(topics: Sequence[str], *, binary: bool) -> bytes:
    """One frame for each topic, to be sent in any order."""
    encode = binary_request if binary else json_request
    return b"".join(
        encode(GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, opaque)
        for opaque, topic in enumerate(topics, start=1000)
    )
