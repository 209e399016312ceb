"""Starts a name server and a broker with default settings on loopback, and clients beside them.

Only what a test machine needs differs from the defaults: free ports, loopback, small files. An
`open` site is what `gantry broker` starts; a `guarded` one has access control and TLS.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Final, Self, final

from gantrymq.acl.signature.signature import Credentials
from gantrymq.attack import requests
from gantrymq.attack.legitimate import TOPIC, Seen, Work
from gantrymq.attack.peer import Address, Peer
from gantrymq.interop import ports
from gantrymq.interop.authority import Authority, Identity, client_context
from gantrymq.interop.child import Child, wait_until
from gantrymq.interop.servers import write_properties
from gantrymq.wire.codes import RequestCode, ResponseCode

START_SECONDS: Final = 60.0
SMALL_FILES: Final = {
    "mappedFileSizeCommitLog": str(64 << 20),
    "mappedFileSizeConsumeQueue": str(20 * 5000),
    "mappedFileSizeTimerLog": str(1 << 20),
    "maxHashSlotNum": "5000",
    "maxIndexNum": "20000",
    "diskMaxUsedSpaceRatio": "95",
}
LOOPBACK: Final = "127.0.0.1"
# The default is a share of the machine's memory, on which the measured growth would depend.
PEER_MEMORY: Final = {"maxPeerMemory": str(64 << 20)}

ADMINISTRATOR: Final = Credentials("administrator", "administrator-secret")
USER: Final = Credentials("ordinary-user", "ordinary-secret")
ACCOUNTS: Final = f"""\
accounts:
- accessKey: {ADMINISTRATOR.access_key}
  secretKey: {ADMINISTRATOR.secret_key}
  admin: true
- accessKey: {USER.access_key}
  secretKey: {USER.secret_key}
  defaultTopicPerm: DENY
  defaultGroupPerm: DENY
  topicPerms:
  - {TOPIC}=PUB|SUB
  groupPerms:
  - legitimate-consumers=SUB
"""


@final
class Site:
    """The two servers and the legitimate clients; a test module owns one."""

    def __init__(
        self,
        folder: Path,
        *,
        is_guarded: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.is_guarded = is_guarded
        self.credentials = ADMINISTRATOR if is_guarded else None
        self._settings = dict(settings or {})
        broker_port = ports.free_port(also=(-2, 1))
        self._authority = Authority(_made(folder / "authority")) if is_guarded else None
        tls = client_context() if is_guarded else None
        self.broker = Address(LOOPBACK, broker_port, tls)
        self.fast = Address(LOOPBACK, broker_port - 2, tls)
        self.ha = Address(LOOPBACK, broker_port + 1)
        self.names = Address(LOOPBACK, ports.free_port(), tls)
        self.broker_pages = Address(LOOPBACK, ports.free_port())
        self.names_pages = Address(LOOPBACK, ports.free_port())
        self._stack = ExitStack()
        self.broker_child: Child | None = None
        self.names_child: Child | None = None
        self._clients: Child | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    # ------------------------------------------------------------------ processes

    def restart(self) -> None:
        """Kill both servers, and start them again with their data."""
        for child in (self.broker_child, self.names_child):
            if child is not None:
                child.kill()
        self._start_servers()
        wait_until(self._is_routed, "the name server knows the topic", START_SECONDS)

    def _start_servers(self) -> None:
        self.names_child = self._run("namesrv", self._names_settings(), self.names)
        self.broker_child = self._run("broker", self._broker_settings(), self.broker)

    def _start(self) -> None:
        self._start_servers()
        self.create_topic(TOPIC, 1)
        wait_until(self._is_routed, "the name server knows the topic", START_SECONDS)
        self._clients = self._run_clients()
        wait_until(self._is_used, "a legitimate message is stored", START_SECONDS)

    def _is_used(self) -> bool:
        self.begin()
        time.sleep(0.5)
        return self.end().sent > 0

    def _run(self, program: str, settings: Mapping[str, str], address: Address) -> Child:
        folder = _made(self.folder / program)
        file = write_properties(folder / f"{program}.properties", settings)
        gantry = str(Path(sys.executable).parent / "gantry")
        child = Child(program, [gantry, program, "-c", str(file)], folder)
        self._stack.callback(child.stop)
        child.wait_until(lambda: _is_open(address), f"{program} listens", START_SECONDS)
        return child

    def _run_clients(self) -> Child:
        credentials = USER if self.is_guarded else Credentials("", "")
        work = Work(
            (self.broker.host, self.broker.port),
            (self.names.host, self.names.port),
            tuple((each.host, each.port) for each in (self.broker_pages, self.names_pages)),
            uses_tls=self.is_guarded,
            access_key=credentials.access_key,
            secret_key=credentials.secret_key,
        )
        command = [sys.executable, "-m", "gantrymq.attack.legitimate", json.dumps(asdict(work))]
        tests = str(Path(__file__).resolve().parents[2])
        folder = _made(self.folder / "clients")
        child = Child("clients", command, folder, {"PYTHONPATH": tests}, piped=True)
        self._stack.callback(child.stop)
        return child

    def _names_settings(self) -> dict[str, str]:
        folder = self.folder / "namesrv"
        return {
            "bindAddress": LOOPBACK,
            "listenPort": str(self.names.port),
            "metricsPort": str(self.names_pages.port),
            "kvConfigPath": str(folder / "kvConfig.json"),
            "configStorePath": str(folder / "namesrv.properties"),
            **PEER_MEMORY,
            **self._guard(),
        }

    def _broker_settings(self) -> dict[str, str]:
        store = self.folder / "broker" / "store"
        return {
            **SMALL_FILES,
            **PEER_MEMORY,
            "bindAddress": LOOPBACK,
            "brokerIP1": LOOPBACK,
            "brokerIP2": LOOPBACK,
            "brokerName": "broker-a",
            "listenPort": str(self.broker.port),
            "haListenPort": str(self.ha.port),
            "metricsPort": str(self.broker_pages.port),
            "namesrvAddr": str(self.names),
            "storePathRootDir": str(store),
            "storePathCommitLog": str(store / "commitlog"),
            **self._guard(),
            **self._settings,
        }

    def _guard(self) -> dict[str, str]:
        """The settings of access control and TLS, and the files that they name."""
        if self._authority is None:
            return {}
        accounts = self.folder / "plain_acl.yml"
        accounts.write_text(ACCOUNTS)
        credentials = self.folder / "credentials.yml"
        credentials.write_text(
            f"accessKey: {ADMINISTRATOR.access_key}\nsecretKey: {ADMINISTRATOR.secret_key}\n"
        )
        secret = self.folder / "group-secret"
        secret.write_bytes(b"a secret of the group, 32 bytes.")
        secret.chmod(0o600)
        identity = self._authority.identity("server")
        return {
            "aclEnable": "true",
            "aclFile": str(accounts),
            "aclCredentialsFile": str(credentials),
            "groupSecretFile": str(secret),
            "useTLS": "true",
            "tls.server.mode": "enforcing",
            **identity.settings("server"),
            "tls.client.authServer": "false",
        }

    def signed(self, name: str) -> Identity:
        """A new certificate of this name, signed by the authority of a guarded site."""
        assert self._authority is not None, "an open site has no authority"
        return self._authority.identity(name)

    # ------------------------------------------------------------------ legitimate clients

    def begin(self) -> None:
        """Reset the counts of the legitimate clients."""
        self._tell(b"begin\n")

    def end(self) -> Seen:
        """The counts of the legitimate clients since `begin`."""
        self._tell(b"end\n")
        assert self._clients is not None
        line = self._clients.output.readline()
        assert line, self._clients.report()
        return Seen(**json.loads(line))

    def _tell(self, command: bytes) -> None:
        assert self._clients is not None
        self._clients.input.write(command)
        self._clients.input.flush()

    # ------------------------------------------------------------------ the administrator

    def create_topic(self, name: str, queues: int = 4) -> None:
        """Create a topic as an administrator."""
        with Peer(self.broker, self.credentials) as peer:
            ext = requests.topic(name, queues)
            answer = peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, ext)
        assert answer.code == ResponseCode.SUCCESS, answer.remark

    def is_alive(self) -> bool:
        """Whether both servers answer an administrator."""
        with Peer(self.broker, self.credentials) as peer:
            ext = {"topic": TOPIC, "queueId": "0"}
            stored = peer.ask(RequestCode.GET_MAX_OFFSET, ext)
        return stored.code == ResponseCode.SUCCESS and self._is_routed()

    def _is_routed(self) -> bool:
        with Peer(self.names, self.credentials) as peer:
            answer = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPIC})
        return answer.code == ResponseCode.SUCCESS


def _is_open(address: Address) -> bool:
    try:
        socket.create_connection((address.host, address.port), 1.0).close()
    except OSError:
        return False
    return True


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
