"""Name servers, Java's and ours, and Java brokers, on loopback, each in a folder of its own."""

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
REGISTER_SECONDS = 30.0  # a broker registers each 10 s, and late on a busy machine

# 4.9 maps files through the JDK's internals, which JDK 17 keeps closed.
OPENED_PACKAGES = ("java.base/java.nio", "java.base/sun.nio.ch", "java.base/jdk.internal.ref")
# What Java's TLS does not read from its file.
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
    # A slow machine is no reason to refuse a send.
    "brokerFastFailureEnable": "false",
    "osPageCacheBusyTimeOutMills": "20000",
    # Small files: the defaults preallocate gigabytes.
    "mappedFileSizeCommitLog": str(16 << 20),
    "mappedFileSizeConsumeQueue": str(20 * 5000),
    "mappedFileSizeTimerLog": str(1 << 20),
    "maxHashSlotNum": "5000",
    "maxIndexNum": "20000",
    "diskMaxUsedSpaceRatio": "95",
}


class NameServerKind(Enum):
    """Which program plays the name server."""

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
        self.tls: ssl.SSLContext | None = None  # how `ask` dials
        self.sign: Callable[[Request], Request] = lambda request: request  # what `ask` sends
        self.child: Child | None = None
        self._command = command
        self._is_ready = is_ready

    def spawn(self) -> None:
        """Run it, ready or not."""
        self.child = Child(self.name, self._command, self.folder)

    def start(self) -> None:
        """Run it and wait until it is ready."""
        child = self.child = Child(self.name, self._command, self.folder)
        try:
            child.wait_until(self._is_ready, f"{self.name} is ready", START_SECONDS)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """SIGKILL."""
        if self.child is not None:
            self.child.kill()
            self.child = None

    def pause(self) -> None:
        """SIGSTOP: silent, its connections still open."""
        assert self.child is not None
        self.child.pause()

    def resume(self) -> None:
        """SIGCONT."""
        assert self.child is not None
        self.child.resume()

    def ask(self, request: Request) -> Answer:
        """One question on a connection of its own."""
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
    """A name server of either kind: the command is given the path of its properties file."""

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
        """Whether it serves requests."""
        try:
            return self.ask(Request(206)).code == 0
        except OSError:
            return False

    def brokers(self) -> dict[str, dict[str, str]]:
        """Broker name -> broker id -> address."""
        table = fields(parse_fastjson(self.ask(Request(106)).body))["brokerAddrTable"]
        return {
            broker: {
                key: str(address) for key, address in fields(fields(data)["brokerAddrs"]).items()
            }
            for broker, data in fields(table).items()
        }

    def knows_topic(self, topic: str) -> bool:
        """Whether it has a route for the topic."""
        return self.ask(Request(105, {"topic": topic})).code == 0


def java_name_server(
    version: str, folder: Path, settings: Mapping[str, str] | None = None
) -> NameServer:
    """Apache's own."""
    java = release(JarSet.SERVERS, version)
    command = [*java_command(java, folder, settings), "org.apache.rocketmq.namesrv.NamesrvStartup"]
    return NameServer(f"Java {version} name server", folder, command, settings)


def gantry_name_server(folder: Path, settings: Mapping[str, str] | None = None) -> NameServer:
    """Ours."""
    program = Path(sys.executable).parent / "gantry"
    own = {"metricsPort": "0", **(settings or {})}
    return NameServer("Gantry name server", folder, [str(program), "namesrv"], own)


class Broker(Server):
    """A master, registered with each of the given name servers when it is ready.

    The command is given the path of its properties file.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        command: Sequence[str],
        name_servers: Sequence[NameServer],
        settings: Mapping[str, str],
    ) -> None:
        port = ports.free_port(also=(-2, 1))  # the fast port and the HA port
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
        """Whether each name server that runs gives out this broker's address."""
        return all(self.is_known_to(server) for server in self.name_servers if server.child)

    def is_known_to(self, server: NameServer) -> bool:
        """Whether that name server gives out this broker's address."""
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
        """Whether each name server that runs has a route for the topic."""
        return all(server.knows_topic(topic) for server in self.name_servers if server.child)


class JavaBroker(Broker):
    """Apache's own."""

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
    """Ours."""
    program = Path(sys.executable).parent / "gantry"
    own = {"brokerName": "broker-gantry", "metricsPort": "0", **(settings or {})}
    return Broker("Gantry broker", folder, [str(program), "broker"], name_servers, own)


def addresses(servers: Sequence[Server]) -> str:
    """As namesrvAddr wants them."""
    return ";".join(server.address for server in servers)


def java_command(java: Java, home: Path, settings: Mapping[str, str] | None = None) -> list[str]:
    """A JVM with a small heap, whose home, logs and configuration are in that folder.

    Of the settings, those that begin with `tls.` are for all of the JVM: a file has them.
    """
    tls = {key: value for key, value in (settings or {}).items() if key.startswith("tls.")}
    tls_file = tls.get("tls.config.file") or write_properties(home / "tls.properties", tls)
    conf = home / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    for program in ("namesrv", "broker", "tools"):  # where 4.9 looks, and dies without
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
    """Java's properties format; none of our values needs escaping."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path


def fields(value: object) -> dict[str, object]:
    """A parsed JSON object, as such."""
    assert isinstance(value, dict), value
    return value
