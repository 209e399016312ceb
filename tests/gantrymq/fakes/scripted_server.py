"""Runs a server on a loopback socket that responds to each request with a function's result."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self, final

from gantrymq.wire.command import FLAG_RESPONSE, Command
from gantrymq.wire.frames import FrameReader, encode

Answer = Callable[[Command], Command | None]
"""Returns the response; None closes the connection."""


@final
class ScriptedServer:
    """Use it with `with`, which also closes its connections. A thread serves each connection."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Command] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._serve, name="scripted server")]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        for connection in self._open:
            with suppress(OSError):  # the client ended it already
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed by `__exit__`
            self.connections += 1
            self._open.append(connection)
            thread = threading.Thread(target=self._talk, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _talk(self, connection: socket.socket) -> None:
        reader = FrameReader()
        with connection, suppress(ConnectionError):  # when the client leaves
            while data := connection.recv(1 << 16):
                for request in reader.decode(data):
                    self.requests.append(request)
                    answer = self.answer(request)
                    if answer is None:
                        return
                    answer.opaque, answer.flag = request.opaque, FLAG_RESPONSE
                    connection.sendall(encode(answer))
