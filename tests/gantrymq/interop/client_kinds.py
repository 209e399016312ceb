"""Lists the client libraries: how to start the driver of each, and which features each lacks."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gantrymq.interop.releases import NEWEST, OLDEST_CLIENT
from gantrymq.interop.servers import java_command
from gantrymq.interop.toolchain import (
    CPP,
    NODE,
    JarSet,
    cpp_library,
    go_driver,
    node_modules,
    release,
)

TESTS: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class ClientKind:
    """One library."""

    name: str
    command: Callable[[Path], Sequence[str]]
    # a need of a scenario -> why the library cannot do it
    lacks: Mapping[str, str] = field(default_factory=dict)
    # feature -> what Java's broker does
    java_fails: Mapping[str, str] = field(default_factory=dict)
    broken: Mapping[str, str] = field(default_factory=dict)  # feature -> what the library does


def _java(version: str) -> Callable[[Path], Sequence[str]]:
    def command(folder: Path) -> Sequence[str]:
        client = release(JarSet.SCENARIOS, version)
        return [*java_command(client, folder), client.driver]

    return command


def _node(_: Path) -> Sequence[str]:
    return ["env", f"NODE_PATH={node_modules()}", "node", str(NODE / "driver.js")]


def _cpp(folder: Path) -> Sequence[str]:
    driver = [sys.executable, str(CPP / "cpp_driver.py"), str(cpp_library())]
    return ["env", f"HOME={folder}", *driver]


def _go(folder: Path) -> Sequence[str]:
    return ["env", f"HOME={folder}", "ROCKETMQ_GO_LOG_LEVEL=warn", str(go_driver())]


def _python(folder: Path) -> Sequence[str]:
    places = (f"HOME={folder}", f"PYTHONPATH={TESTS}")
    return ["env", *places, sys.executable, "-m", "gantrymq.interop.clients.python_driver"]


def _no_means(*needs: str) -> dict[str, str]:
    return dict.fromkeys(needs, "the library has no means for it")


JAVA: Final = ClientKind(f"Java {NEWEST}", _java(NEWEST))
OWN: Final = ClientKind("Python, gantrymq.client", _python)
KINDS: Final[Sequence[ClientKind]] = (
    JAVA,
    ClientKind(f"Java {OLDEST_CLIENT}", _java(OLDEST_CLIENT), {"pop": "pop came with 5.0"}),
    ClientKind(
        "Node.js, ali-ons 3.12.0",
        _node,
        {
            **_no_means("oneway", "batch", "orderly", "transactions", "pull", "lite", "queries"),
            **_no_means("traces", "requests", "pop"),
            "select": "its sharding key does not choose queue 0",
            "creation": "it sends only to topics that are there",
        },
    ),
    ClientKind(
        "C++, librocketmq of 2019",
        _cpp,
        {
            **_no_means("namespaces", "transactions", "sql", "lite", "queries", "traces"),
            **_no_means("requests", "pop"),
            "batch": "brokers store its batch as one message",
            "local tries": "it does not count the tries of a queue's message",
        },
        java_fails={
            "16 tries, then the dead letter queue": "Java's broker of 5.x needs originTopic, which"
            " this client does not send: it refuses the dead letter with a null pointer"
        },
    ),
    ClientKind(
        "Go, rocketmq-client-go 2.1.2",
        _go,
        {
            **_no_means("queries", "pop", "assign"),
            "traces": "it writes traces and has no means to look for them",
        },
        broken={"requests and replies": "its CreateReplyMessage drops the reply's body"},
    ),
    OWN,
)
