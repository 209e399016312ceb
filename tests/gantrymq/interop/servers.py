"""Runs name servers, Java's and Gantry's, and Java brokers, on loopback with a folder each."""

import ssl
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

from gantrymq.interop import ports
from gantrymq.interop.child import Child, wait_until
from gantrymq.interop.toolchain import SOURCES, JarSet, Java, release
from gantrymq.interop.wire import Answer, Request, connect, parse_fastjson

START_SECONDS = 120.0  # a JVM beside other tests on a busy machine has taken over 60
REGISTER_SECONDS = 30.0  # a broker registers every 10 s, and late on a busy machine

# 4.9 maps files through the JDK's internals, which JDK 17 keeps closed.
OPENED_PACKAGES = ("java.base/java.nio", "java.base/sun.nio.ch", "java.base/jdk.internal.ref")
# The settings that Java's TLS does not read from its file.
ONLY_SYSTEM_PROPERTIES = ("tls.enable", "tls.server.mode")
HEAP = ("-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

BROKER_DEFAULTS = {
    "brokerClusterName": "interop",
    "brokerId": "0",
    "brokerIP1": "127.0.0.1",
    "brokerIP2": "127.0.0.1",
    "bindAddress": "127.0.0.1",
    "autoCreateTopicEnable": "true",
    "registerNameServerPeriod": "10000",
    # A slow machine must not cause refused sends.
    "brokerFastFailureEnable": "false",
    "osPageCacheBusyTimeOutMills": "20000",
    # Small files, because the defaults preallocate gigabytes.
    "mappedFileSizeCommitLog": str(16 << 20),
    "mappedFileSizeConsumeQueue": str(20 * 5000),
    "mappedFileSizeTimerLog": str(1 << 20),
    "maxHashSlotNum": "5000",
    "maxIndexNum": "20000",
    "diskMaxUsedSpaceRatio": "95",
}


class NameServerKind(Enum):
    """The program that is the name server."""

    GANTRY = "gantry"
    JAVA = "java"


class Server:
    """A process that can be ended and started again at the same address."""

    def __init__(
        self,
        name: str,
        folder: Path,
        port: int,
        command: Sequence[str],
        is_ready: Callable[[], bool],
    ) -> None:
        self.name = name
        self.folder = folder
        self.address = f"127.0.0.1:{port}"
        self.tls: ssl.SSLContext | None = None  # the TLS context of `ask`
        # changes the requests of `ask`
        self.sign: Callable[[Request], Request] = lambda request: request
        self.child: Child | None = None
        self._command = command
        self._is_ready = is_ready

    def spawn(self) -> None:
        """Start the process, without waiting until it is ready."""
        self.child = Child(self.name, self._command, self.folder)

    def start(self) -> None:
        """Start the process and wait until it is ready."""
        child = self.child = Child(self.name, self._command, self.folder)
        try:
            child.wait_until(self._is_ready, f"{self.name} is ready", START_SECONDS)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """Send SIGKILL."""
        if self.child is not None:
            self.child.kill()
            self.child = None

    def pause(self) -> None:
        """Send SIGSTOP: the process is silent, and its connections stay open."""
        assert self.child is not None
        self.child.pause()

    def resume(self) -> None:
        """Send SIGCONT."""
        assert self.child is not None
        self.child.resume()

    def ask(self, request: Request) -> Answer:
        """Send one request on a new connection; returns the response."""
        with connect(self.address, self.tls) as connection:
            return connection.ask(self.sign(request))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.child is not None:
            self.child.stop()
            self.child = None


class NameServer(Server):
    """A name server of either kind; the command gets the path of its properties file."""

    def __init__(
        self,
        name: str,
        folder: Path,
        command: Sequence[str],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        port = ports.free_port()
        config = write_properties(
            folder / "namesrv.properties",
            {
                "listenPort": str(port),
                "bindAddress": "127.0.0.1",
                "kvConfigPath": str(folder / "kvConfig.json"),
                **(settings or {}),
            },
        )
        super().__init__(name, folder, port, [*command, "-c", str(config)], self.answers)

    def answers(self) -> bool:
        """Whether the name server answers requests."""
        try:
            return self.ask(Request(206)).code == 0
        except OSError:
            return False

    def brokers(self) -> dict[str, dict[str, str]]:
        """The addresses by broker name and broker id."""
        table = fields(parse_fastjson(self.ask(Request(106)).body))["brokerAddrTable"]
        return {
            broker: {
                key: str(address) for key, address in fields(fields(data)["brokerAddrs"]).items()
            }
            for broker, data in fields(table).items()
        }

    def knows_topic(self, topic: str) -> bool:
        """Whether the name server has a route for the topic."""
        return self.ask(Request(105, {"topic": topic})).code == 0


def java_name_server(
    version: str, folder: Path, settings: Mapping[str, str] | None = None
) -> NameServer:
    """Apache's name server."""
    java = release(JarSet.SERVERS, version)
    command = [*java_command(java, folder, settings), "org.apache.rocketmq.namesrv.NamesrvStartup"]
    return NameServer(f"Java {version} name server", folder, command, settings)


def gantry_name_server(folder: Path, settings: Mapping[str, str] | None = None) -> NameServer:
    """Gantry's name server."""
    program = Path(sys.executable).parent / "gantry"
    own = {"metricsPort": "0", **(settings or {})}
    return NameServer("Gantry name server", folder, [str(program), "namesrv"], own)


class Broker(Server):
    """A master; when it is ready, it is registered with each of the given name servers.

    The command gets the path of its properties file.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        command: Sequence[str],
        name_servers: Sequence[NameServer],
        settings: Mapping[str, str],
    ) -> None:
        port = ports.free_port(also=(-2, 1))  # the fast port and the replication port
        self.broker_name = settings["brokerName"]
        self.name_server_addresses = addresses(name_servers)
        self.name_servers = name_servers
        store = folder / "store"
        config = write_properties(
            folder / "broker.properties",
            {
                **BROKER_DEFAULTS,
                "listenPort": str(port),
                "haListenPort": str(port + 1),
                "namesrvAddr": self.name_server_addresses,
                "storePathRootDir": str(store),
                "storePathCommitLog": str(store / "commitlog"),
                **settings,
            },
        )
        super().__init__(name, folder, port, [*command, "-c", str(config)], self.is_registered)

    def is_registered(self) -> bool:
        """Whether each running name server has this broker's address."""
        return all(self.is_known_to(server) for server in self.name_servers if server.child)

    def is_known_to(self, server: NameServer) -> bool:
        """Whether this name server has this broker's address."""
        return self.address in server.brokers().get(self.broker_name, {}).values()

    def create_topic(self, topic: str, queues: int = 4, **options: str) -> None:
        """Create a topic on this broker and wait until the name servers know it."""
        ext = {
            "topic": topic,
            "defaultTopic": "TBW102",
            "readQueueNums": str(queues),
            "writeQueueNums": str(queues),
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
            **options,
        }
        answer = self.ask(Request(17, ext))
        assert answer.code == 0, answer
        wait_until(
            lambda: self.is_routed(topic), f"the name servers know {topic}", REGISTER_SECONDS
        )

    def is_routed(self, topic: str) -> bool:
        """Whether each running name server has a route for the topic."""
        return all(server.knows_topic(topic) for server in self.name_servers if server.child)


class JavaBroker(Broker):
    """Apache's broker."""

    def __init__(
        self,
        version: str,
        folder: Path,
        name_servers: Sequence[NameServer],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        own = {"brokerName": f"broker-{version}", **(settings or {})}
        java = java_command(release(JarSet.SERVERS, version), folder, settings)
        command = [*java, "org.apache.rocketmq.broker.BrokerStartup"]
        super().__init__(f"Java {version} broker", folder, command, name_servers, own)


def gantry_broker(
    folder: Path, name_servers: Sequence[NameServer], settings: Mapping[str, str] | None = None
) -> Broker:
    """Gantry's broker."""
    program = Path(sys.executable).parent / "gantry"
    own = {"brokerName": "broker-gantry", "metricsPort": "0", **(settings or {})}
    return Broker("Gantry broker", folder, [str(program), "broker"], name_servers, own)


def addresses(servers: Sequence[Server]) -> str:
    """The addresses in the form of namesrvAddr."""
    return ";".join(server.address for server in servers)


def java_command(java: Java, home: Path, settings: Mapping[str, str] | None = None) -> list[str]:
    """The command of a JVM with a small heap, whose home, logs and configuration are in this
    folder.

    Settings that begin with `tls.` apply to the whole JVM and are written to a file.
    """
    tls = {key: value for key, value in (settings or {}).items() if key.startswith("tls.")}
    tls_file = tls.get("tls.config.file") or write_properties(home / "tls.properties", tls)
    conf = home / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    for program in ("namesrv", "broker", "tools"):  # 4.9 looks for these and ends without them
        (conf / f"logback_{program}.xml").write_bytes((SOURCES / "logback.xml").read_bytes())
    return [
        "java",
        *HEAP,
        *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED_PACKAGES),
        "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
        f"-Duser.home={home}",
        f"-Djava.io.tmpdir={home}",
        f"-Drocketmq.home.dir={home}",
        f"-Drocketmq.client.logRoot={home}",
        f"-Dtls.config.file={tls_file}",
        *(f"-D{key}={tls[key]}" for key in ONLY_SYSTEM_PROPERTIES if key in tls),
        f"-Drmq.logback.configurationFile={SOURCES / 'logback.xml'}",
        "-cp",
        java.class_path,
    ]


def write_properties(path: Path, settings: Mapping[str, str]) -> Path:
    """Write a file in Java's properties format; the values here need no escaping."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path


def fields(value: object) -> dict[str, object]:
    """The value, which must be a JSON object."""
    assert isinstance(value, dict), value
    return value
