"""Configures every test: only loopback connections, current compiled modules, bounded hypothesis.

GANTRY_PURE=1 runs the `.py` of the compiled modules. Without it a compiled library that is older
than its source stops the run, since a stale library takes precedence over an edited source.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

from gantrymq import left_out
from tools.speedups import hot_modules

ROOT = Path(__file__).resolve().parent.parent
PURE = os.environ.get("GANTRY_PURE") == "1"

settings.register_profile("default", max_examples=60, deadline=None)
settings.register_profile(
    "long", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A shell makes background processes ignore interrupts, which their children would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _hot_sources() -> dict[str, Path]:
    """The source of each compiled module, by its name."""
    return {name: ROOT / source for name, source in hot_modules(ROOT).items()}


class PureFinder:
    """Finds the `.py` of a hot module even if a compiled library is beside it."""

    def __init__(self, sources: dict[str, Path]) -> None:
        self._sources = sources

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        source = self._sources.get(name)
        return importlib.util.spec_from_file_location(name, source) if source else None


def _refuse_stale(sources: dict[str, Path]) -> None:
    for source in sources.values():
        libraries = list(source.parent.glob(f"{source.stem}.*.so"))
        if not libraries:
            pytest.exit(f"{source} is not compiled; run: make .venv/ready", returncode=3)
        if libraries[0].stat().st_mtime < source.stat().st_mtime:
            pytest.exit(f"{libraries[0].name} is older than its source; run: make .venv/ready", 3)


def _refuse_strangers(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook that refuses connections to other machines, except to clusters made by
    tests."""
    if event not in {"socket.connect", "socket.sendto"}:
        return
    address = arguments[1]
    if not isinstance(address, tuple):
        return  # a unix socket
    host = str(address[0]).split("%", maxsplit=1)[0]
    if host == "localhost" or ipaddress.ip_address(host).is_loopback:
        return
    networks = map(ipaddress.ip_network, os.environ.get("GANTRY_TEST_NETWORKS", "").split())
    if not any(ipaddress.ip_address(host) in network for network in networks):
        raise PermissionError(f"tests talk to loopback only, not to {host}")


if PURE:
    sys.meta_path.insert(0, PureFinder(_hot_sources()))
sys.addaudithook(_refuse_strangers)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "power_cut: needs root and /dev/fuse; run by make crash, not with the units"
    )
    if not PURE and not hasattr(config, "workerinput"):
        _refuse_stale(_hot_sources())


def pytest_report_header(config: pytest.Config) -> str:
    return f"gantry speedups: {'pure (GANTRY_PURE=1)' if PURE else 'compiled'}"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in left_out.lines(config):
        terminalreporter.write_line(line, yellow=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if left_out.is_all_left_out(session):
        session.exitstatus = pytest.ExitCode.OK
