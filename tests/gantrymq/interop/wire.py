"""Implements a blocking RocketMQ connection for tests.

It shares no code with the product on purpose: both would otherwise make the same mistake.

    int32 total | int32 type << 24 | header length | header | body
"""

import json
import re
import socket
import ssl
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

JSON_TYPE, BINARY_TYPE = 0, 1
BINARY_LANGUAGES = {"JAVA": 0, "CPP": 1, "PYTHON": 3, "OTHER": 7, "GO": 9}
ANSWER_TIMEOUT_SECONDS = 30.0

STRING_OR_NUMBER_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|(-?\d+)(?=\s*:)')


class Encoding(Enum):
    """The header's encoding; the value is the type byte of the frame."""

    JSON = JSON_TYPE
    BINARY = BINARY_TYPE


@dataclass(frozen=True, slots=True)
class Request:
    """A request as a client would send it."""

    code: int
    ext: Mapping[str, str] | None = None
    body: bytes = b""
    version: int = 479
    language: str = "JAVA"
    flag: int = 0
    encoding: Encoding = Encoding.JSON


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with its decoded header; `header` has the original bytes."""

    encoding: Encoding
    header: bytes
    code: int
    flag: int
    opaque: int
    version: int
    language: str | int
    remark: str | None
    ext: Mapping[str, str] | None
    body: bytes


class Connection:
    """One connection, plain or TLS, with one request at a time."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._opaque = 0

    def ask(self, request: Request) -> Answer:
        """Send a request and wait for the response with its opaque."""
        opaque = self.send(request)
        answer = self.receive()
        assert answer.opaque == opaque, f"asked {opaque}, answered {answer.opaque}"
        return answer

    def send(self, request: Request) -> int:
        """Send a request without waiting; returns its opaque."""
        self._opaque += 1
        self._stream.sendall(encode(request, self._opaque))
        return self._opaque

    @property
    def own_address(self) -> str:
        """The local address of the connection, which the peer's log shows."""
        host, port = self._stream.getsockname()
        return f"{host}:{port}"

    def send_bytes(self, data: bytes) -> None:
        """Send any bytes."""
        self._stream.sendall(data)

    def receive(self) -> Answer:
        """The next frame; ConnectionError if the peer closed, TimeoutError if it is silent."""
        (total,) = struct.unpack(">i", self._read(4))
        return decode(self._read(total))

    def is_closed_by_peer(self) -> bool:
        """Whether the peer closes within the answer timeout, without sending anything before."""
        try:
            return self._stream.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = self._stream.recv(size - len(data))
            if not chunk:
                raise ConnectionError(f"closed by the peer after {len(data)} of {size} bytes")
            data += chunk
        return bytes(data)


@contextmanager
def connect(
    address: str,
    tls: ssl.SSLContext | None = None,
    timeout: float = ANSWER_TIMEOUT_SECONDS,
) -> Iterator[Connection]:
    """A connection to `host:port`; closed at the end of the block."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=timeout) as stream:
        if tls is None:
            yield Connection(stream)
            return
        with tls.wrap_socket(stream) as encrypted:
            yield Connection(encrypted)


def encode(request: Request, opaque: int) -> bytes:
    """The whole frame of a request."""
    if request.encoding is Encoding.JSON:
        header = _json_header(request, opaque)
    else:
        header = _binary_header(request, opaque)
    mark = request.encoding.value << 24 | len(header)
    return struct.pack(">ii", 4 + len(header) + len(request.body), mark) + header + request.body


def decode(frame: bytes) -> Answer:
    """A frame without its total length."""
    (mark,) = struct.unpack_from(">i", frame)
    length = mark & 0xFFFFFF
    header, body = frame[4 : 4 + length], frame[4 + length :]
    if Encoding(mark >> 24) is Encoding.BINARY:
        return _from_binary(header, body)
    fields = json.loads(header)
    return Answer(
        Encoding.JSON,
        header,
        fields["code"],
        fields["flag"],
        fields["opaque"],
        fields["version"],
        fields["language"],
        fields.get("remark"),
        fields.get("extFields"),
        body,
    )


def parse_fastjson(text: bytes) -> object:
    """Parse a JSON body whose numeric keys may be unquoted."""

    def quote(match: re.Match[str]) -> str:
        return f'"{match[1]}"' if match[1] else match[0]

    parsed: object = json.loads(STRING_OR_NUMBER_KEY.sub(quote, text.decode()))
    return parsed


def _json_header(request: Request, opaque: int) -> bytes:
    fields: dict[str, object] = {
        "code": request.code,
        "flag": request.flag,
        "language": request.language,
        "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON",
        "version": request.version,
    }
    if request.ext is not None:
        fields["extFields"] = dict(request.ext)
    return json.dumps(fields, separators=(",", ":")).encode()


def _binary_header(request: Request, opaque: int) -> bytes:
    ext = b"".join(
        struct.pack(">h", len(key)) + key + struct.pack(">i", len(value)) + value
        for key, value in (
            (key.encode(), value.encode()) for key, value in (request.ext or {}).items()
        )
    )
    fixed = struct.pack(
        ">hbhii",
        request.code,
        BINARY_LANGUAGES[request.language],
        request.version,
        opaque,
        request.flag,
    )
    return fixed + struct.pack(">i", 0) + struct.pack(">i", len(ext)) + ext


def _from_binary(header: bytes, body: bytes) -> Answer:
    code, language, version, opaque, flag, size = struct.unpack_from(">hbhiii", header)
    at = 17
    remark = header[at : at + size].decode() if size else None
    at += size
    (size,) = struct.unpack_from(">i", header, at)
    at += 4
    ext = _binary_ext(header[at : at + size]) if size else None
    assert at + size == len(header)
    return Answer(Encoding.BINARY, header, code, flag, opaque, version, language, remark, ext, body)


def _binary_ext(data: bytes) -> dict[str, str]:
    ext: dict[str, str] = {}
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from(">h", data, at)
        key = data[at + 2 : at + 2 + size].decode()
        at += 2 + size
        (size,) = struct.unpack_from(">i", data, at)
        ext[key] = data[at + 4 : at + 4 + size].decode()
        at += 4 + size
    return ext
