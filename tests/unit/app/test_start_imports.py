"""Tests which modules programs import, because imports cost start time and memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gantrymq.interop.ports import free_port
from gantrymq.testing.server import free_ports

# Prints the packages of others that are loaded when the server has started, and stops it then.
STARTED = """
import os, signal, sys
from {module} import {host}
start = {host}.start

async def start_and_stop(self, *arguments):
    await start(self, *arguments)
    os.kill(os.getpid(), signal.SIGTERM)

{host}.start = start_and_stop
from gantrymq.app.entry import dispatch
status = dispatch(sys.argv[1:])
for name, module in sys.modules.items():
    if "site-packages" in (getattr(module, "__file__", None) or ""):
        print("loaded", name.partition(".")[0])
sys.exit(status)
"""

# For TLS and for accounts, which most servers do not have.
NOT_NEEDED = {"cryptography", "yaml"}


def loaded(code: str, *arguments: str) -> set[str]:
    """The names that a process printed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return {line.split()[1] for line in done.stdout.splitlines() if line.startswith("loaded ")}


def test_help_imports_no_program() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from gantrymq.app.entry import dispatch\n"
        "dispatch(['--help'])\n"
        "for name in set(sys.modules) - before: print('loaded', name)\n"
    )
    names = loaded(code)

    assert {name for name in names if name.startswith("gantrymq.")} == {
        "gantrymq.app",
        "gantrymq.app.entry",
        "gantrymq.cli",
        "gantrymq.cli.catalog",
    }
    assert not names & {"argparse", "asyncio", "dataclasses", "importlib.metadata", "inspect"}


@pytest.mark.parametrize(
    ("module", "host", "arguments"),
    [
        ("gantrymq.broker.server", "BrokerHost", ["broker", "--set", "brokerIP1=127.0.0.1"]),
        ("gantrymq.namesrv.server", "NameServerHost", ["namesrv"]),
    ],
)
def test_server_imports_no_library_of_other_programs(
    module: str, host: str, arguments: Sequence[str], tmp_path: Path
) -> None:
    settings = tmp_path / "server.conf"
    lines = [
        "bindAddress=127.0.0.1",
        "listenPort=0",
        f"metricsPort={free_port()}",
        f"storePathRootDir={tmp_path / 'store'}",
        f"kvConfigPath={tmp_path / 'kv.json'}",
    ]
    settings.write_text("\n".join(lines) + "\n")
    names = loaded(STARTED.format(module=module, host=host), *arguments, "-c", str(settings))

    assert "uvloop" in names
    assert not names & NOT_NEEDED


def test_standalone_start_imports_no_more_than_its_servers(tmp_path: Path) -> None:
    names, broker, metrics, console = map(str, free_ports())
    ports = ("--namesrv-port", names, "--broker-port", broker, "--metrics-port", metrics)
    code = STARTED.format(module="gantrymq.broker.server", host="BrokerHost")
    more = ("--console-port", console, "--data", str(tmp_path))
    found = loaded(code, "standalone", *ports, *more)

    assert "uvloop" in found
    assert not found & NOT_NEEDED
