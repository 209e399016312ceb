"""Runs the two brokers under measurement on the server core, each with its own name server.

Settings are the defaults, except for names and paths; Java's heap is that of servers.py. The cost
of a broker includes all its threads and child processes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from bench.machine import SERVER_CORE, family, pinned
from bench.namesrv.servers import GANTRY, JAVA, Memory, java_program, java_release
from bench.store.store_workers import cpu_clock
from gantrymq.interop.ports import free_port
from gantrymq.interop.servers import NameServer, gantry_name_server, write_properties
from gantrymq.interop.wire import Answer, Request, connect

BROKER_NAME: Final = "bench-broker"
JAVA_MAIN: Final = "org.apache.rocketmq.broker.BrokerStartup"
READY_SECONDS = 120.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.005  # the resolution of a measured start
ROUTE_SECONDS = 60.0
UPDATE_AND_CREATE_TOPIC, GET_MAX_OFFSET, DELETE_EXPIRED_COMMITLOG = 17, 30, 329
KEEPS_NOTHING: Final = {"fileReservedTime": "0"}  # except for its newest file, once it is asked


class Broker:
    """One broker's folder and settings, and its process while it runs."""

    def __init__(
        self,
        name: str,
        folder: Path,
        name_server: NameServer,
        settings: Mapping[str, str],
        port: int = 0,
    ) -> None:
        """Use this port and the ports beside it; 0 means any free port."""
        self.name = name
        self.port = port or broker_port()
        self.name_server = name_server
        self.store = folder / "store"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        own = {
            "brokerName": BROKER_NAME,
            "brokerClusterName": "bench",
            "brokerIP1": "127.0.0.1",
            "bindAddress": "127.0.0.1",
            "listenPort": str(self.port),
            "haListenPort": str(self.port + 1),
            "namesrvAddr": name_server.address,
            "storePathRootDir": str(self.store),
            "storePathCommitLog": str(self.store / "commitlog"),
            **settings,
        }
        if name == GANTRY:
            own["metricsPort"] = str(free_port())  # on, as by default
            program = [str(Path(sys.executable).parent / "gantry"), "broker"]
        else:
            program = [*java_program(java_release(), folder), JAVA_MAIN]
        config = write_properties(folder / "broker.properties", own)
        self._command = [*program, "-c", str(config)]

    # ------------------------------------------------------------------ life

    def start(self) -> float:
        """Start the broker; returns the seconds until it answered."""
        began = time.monotonic()
        with (self._folder / "out.log").open("ab") as log, pinned(SERVER_CORE):
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder
            )
        while not self._answers():
            if time.monotonic() - began > READY_SECONDS:
                raise TimeoutError(f"{self.name} does not answer\n{self._log_end()}")
            time.sleep(POLL_SECONDS)
        return time.monotonic() - began

    def kill(self) -> None:
        """Kill the broker with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Ask the broker to end, and kill it if it does not."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                sys.stderr.write(f"{self.name} did not stop within {STOP_SECONDS:.0f} s\n")
            self.kill()

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            code = self._process.returncode
            raise RuntimeError(f"{self.name} ended with {code}\n{self._log_end()}")
        try:
            self.queue_ends("TBW102", 1)
        except OSError:
            return False
        return True

    def _log_end(self) -> str:
        return (self._folder / "out.log").read_text(errors="replace")[-4000:]

    # ------------------------------------------------------------------ what it has

    def create_topic(self, topic: str, queues: int) -> None:
        """Create a topic, and wait until the name server knows it."""
        ext = {
            "topic": topic,
            "defaultTopic": "TBW102",
            "readQueueNums": str(queues),
            "writeQueueNums": str(queues),
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
        }
        with connect(self.address, timeout=ROUTE_SECONDS) as connection:
            answer = connection.ask(Request(UPDATE_AND_CREATE_TOPIC, ext))
        if answer.code != 0:
            raise RuntimeError(f"{self.name} does not create {topic}: {answer.remark}")
        self.wait_for_route(topic)

    def wait_for_route(self, topic: str) -> None:
        end = time.monotonic() + ROUTE_SECONDS
        while not self.name_server.knows_topic(topic):
            if time.monotonic() > end:
                raise TimeoutError(f"{self.name} does not register {topic}\n{self._log_end()}")
            time.sleep(POLL_SECONDS)

    def drop_old_files(self) -> None:
        """Delete the old files of a broker that keeps nothing, so that they do not fill the
        disk."""
        with connect(self.address) as connection:
            answer = connection.ask(Request(DELETE_EXPIRED_COMMITLOG))
        if answer.code != 0:
            raise RuntimeError(f"{self.name} deletes nothing: {answer.code} {answer.remark}")

    def queue_ends(self, topic: str, queues: int) -> list[int]:
        """The offset after the last message of each queue."""
        with connect(self.address) as connection:
            return [_max_offset(connection.ask(request)) for request in _asked(topic, queues)]

    def stored(self, topic: str, queues: int) -> int:
        """The number of messages in all queues."""
        return sum(self.queue_ends(topic, queues))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    # ------------------------------------------------------------------ what it costs

    def cpu_seconds(self) -> float:
        return sum(time.clock_gettime(cpu_clock(process_id)) for process_id in self.process_ids())

    def memory(self) -> Memory:
        """The memory; in the first figure, pages shared by its processes count for each of them."""
        rss = pss = 0.0
        for process_id in self.process_ids():
            rollup = Path(f"/proc/{process_id}/smaps_rollup").read_text()
            sizes = {key: int(size) / 1024 for key, size in re.findall(r"(\w+): +(\d+) kB", rollup)}
            rss += sizes["Rss"]
            pss += sizes["Pss"]
        return Memory(rss, pss)

    def process_ids(self) -> Sequence[int]:
        """The broker's process and its children; empty while the broker does not run."""
        return () if self._process is None else family(self._process.pid)


def broker_port() -> int:
    """A port that is free, as are the fast port and the replication port beside it."""
    return free_port(also=(-2, 1))


def _asked(topic: str, queues: int) -> Iterator[Request]:
    for queue_id in range(queues):
        yield Request(GET_MAX_OFFSET, {"topic": topic, "queueId": str(queue_id)})


def _max_offset(answer: Answer) -> int:
    if answer.code != 0 or answer.ext is None:
        raise RuntimeError(f"no end of a queue: {answer.code} {answer.remark}")
    return int(answer.ext["offset"])


@contextmanager
def cold(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[dict[str, Broker]]:
    """Both brokers, stopped, each with its own running name server."""
    with ExitStack() as stack:
        brokers = {}
        for name in (JAVA, GANTRY):
            home = folder / name
            (home / "namesrv").mkdir(parents=True)
            name_server = stack.enter_context(gantry_name_server(home / "namesrv"))
            brokers[name] = Broker(name, home, name_server, settings or {})
            stack.callback(brokers[name].kill)
        yield brokers


@contextmanager
def both(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[dict[str, Broker]]:
    """Both brokers, empty and running; killed at the end, because their data are not needed."""
    with cold(folder, settings) as brokers:
        for broker in brokers.values():
            broker.start()
        yield brokers
