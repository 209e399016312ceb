"""Drives the Java programs: long-lived JVMs with a client or mqadmin, by lines on stdin."""

import json
import os
import select
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from gantrymq.interop.child import Child
from gantrymq.interop.servers import (
    Server,
    addresses,
    fields,
    java_command,
    write_properties,
)
from gantrymq.interop.toolchain import JarSet, release

REPLY_SECONDS = 60.0


class Driver:
    """A JVM that answers each line with one or more lines; the last one says "done"."""

    def __init__(
        self, jar_set: JarSet, version: str, folder: Path, tls: Mapping[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        java = release(jar_set, version)
        command = [*java_command(java, folder, tls), java.driver]
        self._folder = folder
        self.version = version
        self._child = Child(f"Java {version} {java.driver}", command, folder, piped=True)
        self._unread = b""

    def use_tls(self, settings: Mapping[str, str]) -> None:
        """The settings for clients that it creates from now on; other settings stay as they are."""
        write_properties(self._folder / "tls.properties", settings)

    def order(self, order: object) -> None:
        """Send an order without waiting."""
        self._child.input.write(json.dumps(order).encode() + b"\n")
        self._child.input.flush()

    def reply(self, seconds: float = REPLY_SECONDS) -> dict[str, object]:
        """The next line of its output."""
        end = time.monotonic() + seconds
        while b"\n" not in self._unread:
            left = max(0.0, end - time.monotonic())
            if not select.select([self._child.output], [], [], left)[0]:
                raise TimeoutError(f"no reply in {seconds:g} s\n{self._child.report()}")
            chunk = os.read(self._child.output.fileno(), 1 << 16)
            if not chunk:
                raise RuntimeError(f"the driver ended\n{self._child.report()}")
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return fields(json.loads(line))

    def outcome(self, seconds: float = REPLY_SECONDS) -> dict[str, object]:
        """The last line of its answer; an AssertionError with Java's stack trace if that is an
        error."""
        end = time.monotonic() + seconds
        while "done" not in (reply := self.reply(end - time.monotonic())):
            pass
        assert "error" not in reply, reply["error"]
        return reply

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._child.stop()


@dataclass(frozen=True, slots=True)
class Received:
    """What a consumer received: the numbers of the messages, and of those that differ from what was
    sent."""

    numbers: frozenset[int]
    deliveries: int
    damaged: tuple[str, ...]


class JavaClient(Driver):
    """A JVM with producers and push consumers of one release."""

    def __init__(self, version: str, folder: Path, tls: Mapping[str, str] | None = None) -> None:
        super().__init__(JarSet.CLIENT, version, folder, tls)

    def start_producing(
        self, topic: str, servers: Sequence[Server], count: int, *, per_second: int | None = None
    ) -> None:
        """Send messages 0 .. count-1 from four threads, without retries."""
        self.order(
            {
                "do": "produce",
                "namesrv": addresses(servers),
                "topic": topic,
                "count": count,
                "threads": 4,
                "pauseNanos": 1_000_000_000 // per_second if per_second else 0,
            }
        )

    def wait_for_sent(self, count: int) -> None:
        """Wait until so many messages are sent."""
        while int(str(self.reply()["sent"])) < count:
            pass

    def produce(self, topic: str, servers: Sequence[Server], count: int) -> None:
        """Send, wait, and assert that each send succeeded."""
        self.start_producing(topic, servers, count)
        self.finish_producing(count)

    def finish_producing(self, count: int) -> None:
        """Wait for the end of `start_producing`, and assert that each send succeeded."""
        assert self.failed_sends(count) == {}

    def failed_sends(self, count: int, seconds: float = REPLY_SECONDS) -> dict[int, str]:
        """Wait for the end of `start_producing`; returns the failed messages with their errors."""
        reply = self.outcome(seconds)
        assert reply["sent"] == count
        errors = reply["errors"]
        assert isinstance(errors, list)
        numbered = (str(error).partition(": ") for error in errors)
        return {int(number): why for number, _, why in numbered}

    def subscribe(self, topic: str, servers: Sequence[Server]) -> None:
        """Start a push consumer in a group of its own, from the first message."""
        self.order({"do": "subscribe", "topic": topic, "namesrv": addresses(servers)})
        self.outcome()

    def received(self, topic: str, count: int, seconds: float = REPLY_SECONDS) -> Received:
        """Wait until so many different messages have arrived, or the time is over."""
        order = {"do": "received", "topic": topic, "count": count, "millis": int(seconds * 1000)}
        self.order(order)
        reply = self.outcome(seconds + REPLY_SECONDS)
        numbers, damaged = reply["numbers"], reply["damaged"]
        assert isinstance(numbers, list)
        assert isinstance(damaged, list)
        return Received(frozenset(numbers), int(str(reply["deliveries"])), tuple(damaged))

    def queues(self, topic: str, servers: Sequence[Server]) -> set[str]:
        """The `broker:queue` names among which a producer would choose."""
        self.order({"do": "queues", "topic": topic, "namesrv": addresses(servers)})
        queues = self.outcome()["queues"]
        assert isinstance(queues, list)
        return set(queues)

    def leave(self, servers: Sequence[Server]) -> None:
        """Remove the producer for these name servers; its next use creates a new one."""
        self.order({"do": "leave", "namesrv": addresses(servers)})
        self.outcome()

    def chosen_name_server(self, servers: Sequence[Server]) -> str:
        """The address of the name server that the producer is connected to."""
        self.order({"do": "chosen", "namesrv": addresses(servers)})
        return str(self.outcome()["address"])


class MqAdmin(Driver):
    """The real mqadmin of one release."""

    def __init__(self, version: str, folder: Path, tls: Mapping[str, str] | None = None) -> None:
        super().__init__(JarSet.SERVERS, version, folder, tls)
        self._lock = threading.Lock()

    def run(self, server: Server, command: str, *options: str) -> str:
        """The output of the command, standard output before standard error. Any thread may call
        this."""
        with self._lock:
            self.order([command, "-n", server.address, *options])
            reply = self.outcome()
        return f"{reply['out']}{reply['err']}"
