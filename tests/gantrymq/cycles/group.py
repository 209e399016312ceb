"""Runs three members that elect their master, with all that their group needs.

Each member is on a host of its own with a partition of its own. A lease API and a name server run
beside them, and clients on a host that reaches the group by its one address.

What the test itself wants to know of the lease it asks by a socket of the file system, which no cut
reaches.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, final

from gantrymq.cycles.hosts.disk import SmallDisk
from gantrymq.cycles.hosts.enclosure import SOURCES
from gantrymq.cycles.hosts.network import PREFIX, Host, Network
from gantrymq.fakes.stores.foreign_disk import make_foreign
from gantrymq.interop.child import Child, wait_until
from gantrymq.interop.servers import BROKER_DEFAULTS, write_properties
from gantrymq.interop.wire import Request, connect

TOPIC: Final = "orders"
QUEUES: Final = 8
NAMESPACE: Final = "mq"
BROKER: Final = "broker-a"
SERVICE_ADDRESS: Final = f"{PREFIX}.100"
NAMES_PORT, LEASE_PORT, BROKER_PORT, HA_PORT = 9876, 8001, 10911, 10912
START_SECONDS: Final = 60.0
WELL_SECONDS: Final = 60.0
STOP_SECONDS: Final = 20.0
ASK_SECONDS: Final = 5.0
LEASE_NAME: Final = f"interop-{BROKER}"
_LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE_NAME}"
_SLICE: Final = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/{BROKER}-master"
# Run on the API's own host: what it does to its callers there.
_CONTROL: Final = """\
import json, sys, urllib.request
url, fault, seconds = sys.argv[1:]
said = {"fault": fault, "seconds": float(seconds), "methods": ["GET", "POST", "PUT", "DELETE"]}
request = urllib.request.Request(f"{url}/control", json.dumps(said).encode(), method="POST")
urllib.request.urlopen(request, timeout=10).close()
"""
_GANTRY: Final = str(Path(sys.executable).parent / "gantry")

# Any: JSON.
Object = dict[str, Any]


@final
class Hosts:
    """All machines of a run; groups come and go on them."""

    def __init__(self) -> None:
        self.network = Network()
        self.members = {number: Host(f"m{number}", number) for number in (1, 2, 3)}
        self.lease = Host("lease", 11)
        self.names = Host("names", 12)
        self.clients = Host("clients", 13)
        self.clients.add_address(SERVICE_ADDRESS)


@final
class CycleMember:
    """One broker with its guard, and its partition."""

    def __init__(self, number: int, host: Host, folder: Path, settings: dict[str, str]) -> None:
        folder.mkdir()
        self.address = f"{host.address}:{BROKER_PORT}"
        self.disk = SmallDisk(folder / "disk")
        self.folder = folder
        self.host = host
        self.number = number
        self.store = self.disk.root / "store"
        self._child: Child | None = None
        own = {
            "brokerIP1": host.address,
            "brokerIP2": host.address,
            "memberNumber": str(number),
            "storePathRootDir": str(self.store),
        }
        self._config = write_properties(folder / "broker.properties", {**settings, **own})

    def start(self) -> None:
        command = self.host.command(_GANTRY, "broker", "--guarded", "-c", str(self._config))
        self._child = Child(f"member {self.number}", command, self.folder)

    @property
    def is_up(self) -> bool:
        return self._child is not None

    @property
    def _guard(self) -> Child:
        assert self._child is not None
        return self._child

    def signal(self, number: int) -> None:
        """To the broker, not to its guard."""
        guard = self._guard.number
        [broker] = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
        os.kill(int(broker), number)

    def kill(self) -> None:
        """kill -9; the guard reaps it, and ends by itself."""
        self.signal(signal.SIGKILL)

    def wait(self) -> None:
        """Until the guard has ended."""
        self._guard.wait(STOP_SECONDS)
        self._child = None

    def kill_all(self) -> None:
        """With its supervisor, so that no process gives the lease away."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def terminate(self) -> None:
        """SIGTERM, and wait."""
        self._guard.finish(STOP_SECONDS)
        self._child = None

    # ------------------------------------------------------------------ its disk; it is down

    def lose_store(self) -> None:
        """The next start finds an empty disk."""
        shutil.rmtree(self.store)

    def take_foreign_store(self) -> None:
        """The next start finds the disk of an older cluster, which had more masters."""
        self._own.mkdir()
        shutil.copytree(self.store, self._own / "store")
        make_foreign(self.store)

    def take_own_store(self) -> None:
        """As it was before."""
        shutil.rmtree(self.store)
        shutil.move(self._own / "store", self.store)
        self._own.rmdir()

    @property
    def _own(self) -> Path:
        return self.disk.root / "own"

    def report(self) -> str:
        return self._child.report() if self._child is not None else f"member {self.number}: down"


@final
class CycleGroup:
    """All of it but the clients."""

    def __init__(self, folder: Path, hosts: Hosts) -> None:
        self.folder = folder
        self.hosts = hosts
        self.names = f"{hosts.names.address}:{NAMES_PORT}"
        self._children: list[Child] = []
        self._socket = folder / "api.socket"
        self._switches = 0
        secret = folder / "secret"
        secret.write_text("a secret of sixteen bytes or more\n")
        group = ",".join(f"{n}={host.address}:{HA_PORT}" for n, host in hosts.members.items())
        settings = {
            **{key: value for key, value in BROKER_DEFAULTS.items() if key != "brokerId"},
            "bindAddress": "0.0.0.0",
            "brokerName": BROKER,
            "brokerRole": "SYNC_MASTER",
            "groupAddress": f"{SERVICE_ADDRESS}:{BROKER_PORT}",
            "groupMembers": group,
            "groupSecretFile": str(secret),
            "haListenPort": str(HA_PORT),
            "leaseName": LEASE_NAME,
            "leaseNamespace": NAMESPACE,
            "leaseUrl": f"http://{hosts.lease.address}:{LEASE_PORT}",
            "listenPort": str(BROKER_PORT),
            "metricsPort": "0",
            "namesrvAddr": self.names,
            "publishService": BROKER,
        }
        self.members = {
            number: CycleMember(number, host, folder / f"member-{number}", settings)
            for number, host in hosts.members.items()
        }

    # ------------------------------------------------------------------ life

    def start(self) -> None:
        """All follow one of them, and the topic is there."""
        hosts = self.hosts
        api = ("-m", "gantrymq.fakes.groups.lease_api", "--host", hosts.lease.address)
        ports = ("--port", str(LEASE_PORT), "--unix", str(self._socket))
        self._run("lease", hosts.lease, sys.executable, *api, *ports)
        self._children[-1].wait_until(self._socket.exists, "the lease API answers", START_SECONDS)
        service = (str(self._socket), NAMESPACE, f"{BROKER}-master")
        address = (SERVICE_ADDRESS, str(BROKER_PORT))
        module = ("-m", "gantrymq.cycles.service")
        self._run("service", hosts.clients, sys.executable, *module, *service, *address)
        names = self.folder / "names.properties"
        kept = {"kvConfigPath": str(self.folder / "kvConfig.json"), "metricsPort": "0"}
        where = {"listenPort": str(NAMES_PORT), "bindAddress": hosts.names.address}
        write_properties(names, {**kept, **where})
        self._run("names", hosts.names, _GANTRY, "namesrv", "-c", str(names))
        for member in self.members.values():
            member.start()
        self.wait_until_well()
        self._create_topic()

    def _run(self, name: str, host: Host, *command: str) -> None:
        own = self.folder / name
        own.mkdir()
        places = {"PYTHONPATH": str(SOURCES)}
        self._children.append(Child(name, host.command(*command), own, places))

    def kill_members(self) -> None:
        for member in self.members.values():
            member.kill_all()

    def stop(self) -> None:
        self.kill_members()
        for child in self._children:
            child.kill()
        for member in self.members.values():
            member.disk.unmount()

    def _create_topic(self) -> None:
        told = {"topic": TOPIC, "defaultTopic": "TBW102", "perm": "6", "topicSysFlag": "0"}
        size = {"readQueueNums": str(QUEUES), "writeQueueNums": str(QUEUES), "order": "false"}
        with connect(self.master.address) as connection:
            answer = connection.ask(Request(17, {**told, **size, "topicFilterType": "SINGLE_TAG"}))
        assert answer.code == 0, answer
        self.wait(self._is_routed, f"the name server knows {TOPIC}", START_SECONDS)

    def _is_routed(self) -> bool:
        with connect(self.names) as connection:
            return connection.ask(Request(105, {"topic": TOPIC})).code == 0

    # ------------------------------------------------------------------ roles

    def lease(self) -> Object:
        """As the API has it; {} while there is none."""
        return self._ask("GET")

    def note(self, name: str) -> str:
        """An annotation of the Lease."""
        notes = self.lease().get("metadata", {}).get("annotations", {})
        return str(notes.get(f"gantrymq.dev/{name}", ""))

    def switch_to(self, number: int) -> None:
        """What an operator writes."""
        self._switches += 1
        notes = {"switch-to": str(number), "switch-number": str(self._switches)}
        named = {f"gantrymq.dev/{key}": value for key, value in notes.items()}
        assert self._ask("PATCH", {"metadata": {"annotations": named}})

    # ------------------------------------------------------------------ what people do to objects

    def touch_lease(self, count: int) -> None:
        """Change what says nothing."""
        self._ask("PATCH", {"metadata": {"labels": {"example.com/touched": str(count)}}})

    def restore_lease(self, saved: Object) -> None:
        """Put back what was saved, whatever is there now."""
        newest = self.lease()["metadata"]
        kept = {name: newest[name] for name in ("resourceVersion", "uid") if name in newest}
        assert self._ask("PUT", {**saved, "metadata": {**saved["metadata"], **kept}})

    def delete_slice(self) -> None:
        self._ask("DELETE", path=_SLICE)

    @property
    def has_slice(self) -> bool:
        return bool(self._ask("GET", path=_SLICE))

    def slow_api(self, seconds: float) -> None:
        """Members hear its answers so much later; 0: at once."""
        url = f"http://{self.hosts.lease.address}:{LEASE_PORT}"
        fault = "late" if seconds else "none"
        command = self.hosts.lease.command(sys.executable, "-c", _CONTROL, url, fault, str(seconds))
        subprocess.run(command, check=True)

    @property
    def holder(self) -> int:
        return int(self.lease().get("spec", {}).get("holderIdentity") or "0")

    @property
    def master(self) -> CycleMember:
        return self.members[self.holder]

    @property
    def followers(self) -> list[CycleMember]:
        holder = self.holder
        return [each for each in self.members.values() if each.number != holder]

    @property
    def is_well(self) -> bool:
        """All that are up are in sync."""
        up = ",".join(str(each.number) for each in self.members.values() if each.is_up)
        return self.holder != 0 and self.note("in-sync") == up

    def wait_until_well(self, seconds: float = WELL_SECONDS) -> None:
        self.wait(lambda: self.is_well, "all members are in sync", seconds)

    def wait(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        try:
            wait_until(condition, what, seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.report()}") from None

    def seconds_until_moved(self, old: int, began: float, seconds: float) -> float | None:
        """From `began` until another one than `old` holds the lease."""
        with suppress(TimeoutError):
            wait_until(lambda: self.holder not in (0, old), "another master", seconds)
            return time.monotonic() - began
        return None

    def report(self) -> str:
        told = [each.report() for each in self.members.values()]
        return "\n".join([json.dumps(self.lease(), indent=1), *told])

    def _ask(self, method: str, body: Object | None = None, path: str = _LEASE) -> Object:
        with suppress(FileNotFoundError):
            connection = UnixConnection(self._socket)
            connection.request(method, path, json.dumps(body) if body else None)
            answer = connection.getresponse()
            found: Object = json.load(answer)
            connection.close()
            return found if answer.status == http.client.OK else {}
        return {}


@final
class UnixConnection(http.client.HTTPConnection):
    """HTTP by a socket of the file system."""

    def __init__(self, path: Path) -> None:
        super().__init__("api", timeout=ASK_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ASK_SECONDS)
        self.sock.connect(str(self._path))
