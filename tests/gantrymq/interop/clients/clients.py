"""Runs a real client in a process of its own, and sends it orders.

    in:  {"id": 7, "do": "send", "as": "name of the client object", ...}
    out: {"id": 7, "answer": ...} or {"id": 7, "error": "..."}

Orders of many threads are in progress at once; answers come in any order.
"""

import itertools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from types import TracebackType
from typing import Self

from gantrymq.interop.child import Child
from gantrymq.interop.servers import fields

ANSWER_SECONDS = 60.0


class ClientError(Exception):
    """An order failed in the driver; the text is the client's own."""


class Client:
    """One process of one client library."""

    def __init__(self, name: str, folder: Path, command: Callable[[Path], Sequence[str]]) -> None:
        self.name = name
        self._child = Child(name, command(folder), folder, piped=True)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[object]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, order: Mapping[str, object], seconds: float = 0.0) -> object:
        """Send an order that may take so long by itself; ClientError if it failed there."""
        answer: Future[object] = Future()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = answer
            self._child.input.write(json.dumps({"id": number, **order}).encode() + b"\n")
            self._child.input.flush()
        try:
            return answer.result(seconds + ANSWER_SECONDS)
        except FutureTimeoutError:
            raise TimeoutError(
                f"{self.name} has not answered: {order}\n{self._child.report()}"
            ) from None

    def kill(self) -> None:
        """Send SIGKILL; threads that wait for an answer get an error. A second call does
        nothing."""
        self._child.kill()
        self._reader.join()

    def _read(self) -> None:
        for line in self._child.output:
            reply = fields(json.loads(line))
            with self._lock:
                answer = self._waiting.pop(int(str(reply["id"])))
            if "error" in reply:
                answer.set_exception(ClientError(str(reply["error"])))
            else:
                answer.set_result(reply.get("answer"))
        with self._lock:
            for answer in self._waiting.values():
                answer.set_exception(ClientError(f"{self.name} ended\n{self._child.report()}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
