"""Three real brokers that elect their master, a name server, and a lease API, all on loopback.

    with MemberGroup(folder) as group:
        group.start()
        with group.sending() as sender:
            group.master.kill()
            ...
        group.check(sender)

Each member asks the lease API on a port of its own, so that it can be cut off alone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, final

from gantrymq.base.errors import GantryError
from gantrymq.client import ConsumeFrom, Message, SendStatus
from gantrymq.client.blocking import Producer, PullConsumer
from gantrymq.interop import ports
from gantrymq.interop.child import Child, wait_until
from gantrymq.interop.servers import BROKER_DEFAULTS, gantry_name_server, write_properties

TOPIC: Final = "orders"
NAMESPACE: Final = "mq"
LEASE: Final = "interop-broker-a"
LEASE_PATH: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE}"
SOURCES: Final = Path(__file__).parents[2]
START_SECONDS: Final = 60.0
ELECT_SECONDS: Final = 60.0
GUARD_SECONDS: Final = 20.0
READ_SECONDS: Final = 40.0

# Any: JSON.
Object = dict[str, Any]


@final
class GroupMember:
    """One broker's process, and its folder."""

    def __init__(self, number: int, folder: Path, port: int, settings: Mapping[str, str]) -> None:
        self.address = f"127.0.0.1:{port}"
        self.folder = folder
        self.number = number
        self.child: Child | None = None
        self._config = write_properties(folder / "broker.properties", settings)

    def start(self, *flags: str) -> None:
        program = Path(sys.executable).parent / "gantry"
        command = [str(program), "broker", *flags, "-c", str(self._config)]
        self.child = Child(f"member {self.number}", command, self.folder)

    @property
    def is_up(self) -> bool:
        return self.child is not None

    @property
    def process(self) -> Child:
        assert self.child is not None
        return self.child

    def kill(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child = None

    def kill_guarded(self) -> None:
        """The broker alone; its guard ends by itself."""
        guard = self.process.number
        [broker] = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
        os.kill(int(broker), signal.SIGKILL)
        self.process.wait(GUARD_SECONDS)
        self.child = None

    def finish(self, seconds: float) -> None:
        """SIGTERM, and wait."""
        self.process.finish(seconds)
        self.child = None

    def said(self, text: str) -> int:
        """How often its log says so."""
        return (self.folder / "out.log").read_text(errors="replace").count(text)

    def has_logged(self, body: bytes) -> bool:
        """Whether its commit log has such a message."""
        files = (self.folder / "store" / "commitlog").iterdir()
        return any(body in file.read_bytes() for file in files)


@final
class Sender:
    """A producer that never rests; what it was told is stored, and when."""

    def __init__(self, names: str) -> None:
        self.acknowledged: list[tuple[float, str]] = []
        self.failures: list[tuple[float, str]] = []
        self._is_over = threading.Event()
        self._names = names
        self._thread = threading.Thread(target=self._run, name="sender")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def gap(self, since: float) -> float:
        """The longest time without an acknowledgement."""
        times = [since, *(moment for moment, _ in self.acknowledged if moment > since)]
        return max((b - a for a, b in pairwise(times)), default=0.0)

    def _run(self) -> None:
        number = 0
        with Producer("member-trial", name_servers=self._names) as producer:
            while not self._is_over.is_set():
                number += 1
                body = f"message {number}"
                try:
                    result = producer.send(Message(TOPIC, body))
                except GantryError as error:
                    self.failures.append((time.monotonic(), str(error)))
                    continue
                if result.status is SendStatus.SEND_OK:
                    self.acknowledged.append((time.monotonic(), body))
                else:
                    self.failures.append((time.monotonic(), result.status.name))


@final
class MemberGroup:
    """All of it."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        of_member: Callable[[int], Mapping[str, str]] = lambda number: {},
    ) -> None:
        """`settings` has settings of all members, and `of_member` returns further ones of one."""
        names = folder / "names"
        names.mkdir()
        self.names = gantry_name_server(names)
        self._api_folder = folder / "api"
        self._api_folder.mkdir()
        self._api_ports = [ports.free_port() for _ in range(3)]
        self._api: Child | None = None
        self._service_port = ports.free_port()
        secret = folder / "secret"
        secret.write_text("a secret of sixteen bytes or more\n")
        numbers = {number: ports.free_port(also=(-2, 1)) for number in (1, 2, 3)}
        addresses = ",".join(f"{n}=127.0.0.1:{port + 1}" for n, port in numbers.items())
        self._folder = folder
        self._settings = {
            **{key: value for key, value in BROKER_DEFAULTS.items() if key != "brokerId"},
            "brokerName": "broker-a",
            "brokerRole": "SYNC_MASTER",
            "metricsPort": "0",
            "namesrvAddr": self.names.address,
            "groupMembers": addresses,
            "groupSecretFile": str(secret),
            "leaseName": LEASE,
            "leaseNamespace": NAMESPACE,
            "publishService": "broker-a",
            "groupAddress": f"127.0.0.1:{self._service_port}",
            **(settings or {}),
        }
        self.members = {
            number: self._member(f"member-{number}", number, port, of_member(number))
            for number, port in numbers.items()
        }

    def _member(
        self, name: str, number: int, port: int, settings: Mapping[str, str]
    ) -> GroupMember:
        own = self._folder / name
        own.mkdir()
        of_member = {
            **self._settings,
            "listenPort": str(port),
            "storePathRootDir": str(own / "store"),
            "memberNumber": str(number),
            "leaseUrl": f"http://127.0.0.1:{self._api_ports[number - 1]}",
            **settings,
        }
        return GroupMember(number, own, port, of_member)

    def twin(self, number: int) -> GroupMember:
        """A second process, with a disk of its own, that claims to be this member. It is not
        started yet."""
        return self._member(f"twin-{number}", number, ports.free_port(also=(-2, 1)), {})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for member in self.members.values():
            member.kill()
        self.names.kill()
        if self._api is not None:
            self._api.kill()

    # ------------------------------------------------------------------ life

    def start(self, *flags: str) -> None:
        """All follow one of them, the master."""
        self.names.start()
        of_api = [flag for port in self._api_ports for flag in ("--port", str(port))]
        of_api += ["--service", str(self._service_port)]
        command = [sys.executable, "-m", "gantrymq.fakes.groups.lease_api", *of_api]
        places = {"PYTHONPATH": str(SOURCES)}
        self._api = Child("lease API", command, self._api_folder, places)
        self._api.wait_until(self._answers, "the lease API answers", START_SECONDS)
        for member in self.members.values():
            member.start(*flags)
        self.wait_until_well(START_SECONDS)

    def _answers(self) -> bool:
        try:
            self.control(1)
        except OSError:
            return False
        return True

    def control(self, number: int, **fault: object) -> Object:
        """What this member's port of the API is to do wrong."""
        data = json.dumps(fault).encode() if fault else None
        return _asked(self._api_ports[number - 1], "/control", data, "POST" if fault else "GET")

    def annotate_lease(self, **annotations: str) -> None:
        """Write requests of an operator into the Lease, such as switch_to="2"."""
        notes = {f"gantrymq.dev/{k.replace('_', '-')}": v for k, v in annotations.items()}
        data = json.dumps({"metadata": {"annotations": notes}}).encode()
        _asked(self._api_ports[0], LEASE_PATH, data, "PATCH")

    def lease(self) -> Object:
        """The Lease as the API has it; {} while there is none."""
        try:
            return _asked(self._api_ports[0], LEASE_PATH)
        except urllib.error.HTTPError:
            return {}

    def note(self, name: str) -> str:
        """An annotation of the Lease."""
        notes = self.lease().get("metadata", {}).get("annotations", {})
        return str(notes.get(f"gantrymq.dev/{name}", ""))

    # ------------------------------------------------------------------ roles

    @property
    def holder(self) -> int:
        return int(self.lease().get("spec", {}).get("holderIdentity") or "0")

    @property
    def master(self) -> GroupMember:
        return self.members[self.holder]

    def wait_until_led(self, *, not_by: int = 0, seconds: float = ELECT_SECONDS) -> float:
        """How long it took until another member is master."""
        began = time.monotonic()
        self.wait(lambda: self.holder not in (0, not_by), "another member is master", seconds)
        return time.monotonic() - began

    def wait_until_well(self, seconds: float = ELECT_SECONDS) -> None:
        """All that are up are in sync."""
        up = ",".join(str(each.number) for each in self.members.values() if each.is_up)
        self.wait(lambda: self.holder != 0 and self.note("in-sync") == up, "all follow", seconds)

    def wait(
        self, condition: Callable[[], bool], what: str, seconds: float = ELECT_SECONDS
    ) -> None:
        try:
            wait_until(condition, what, seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.report()}") from None

    def report(self) -> str:
        living = [each.child.report() for each in self.members.values() if each.child is not None]
        return "\n".join([json.dumps(self.lease(), indent=1), *living])

    # ------------------------------------------------------------------ messages

    @contextmanager
    def sending(self) -> Iterator[Sender]:
        sender = Sender(self.names.address)
        sender.start()
        try:
            yield sender
        finally:
            sender.stop()

    def check(self, sender: Sender) -> None:
        """Every message that was acknowledged is there."""
        wanted = {body for _, body in sender.acknowledged}
        found: set[str] = set()
        until = time.monotonic() + READ_SECONDS
        with PullConsumer(
            f"check-{time.monotonic_ns()}",
            name_servers=self.names.address,
            consume_from=ConsumeFrom.FIRST_OFFSET,
        ) as consumer:
            consumer.subscribe(TOPIC)
            while not wanted <= found and time.monotonic() < until:
                found.update(message.body.decode() for message in consumer.poll(1.0))
        missing = sorted(wanted - found)
        assert not missing, f"{len(missing)} of {len(wanted)} are lost: {missing[:10]}"


def _asked(port: int, path: str, data: bytes | None = None, method: str = "GET") -> Object:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, method=method)
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310 - our own
        value: Object = json.load(answer)
        return value
