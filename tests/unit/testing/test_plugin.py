"""Tests the pytest plugin in pytest runs of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# A run inside of this one forgets what it loaded, and compiled modules cannot be loaded twice.
import gantrymq.testing.embedded  # noqa: F401 - as said

pytest_plugins = ["pytester"]

PLAIN = """
def test_time_passes(gantry_broker, gantry_topic):
    import asyncio

    assert gantry_topic() != gantry_topic()
    assert gantry_topic("orders", queues=2) == "orders"
    asyncio.run(gantry_broker.advance(hours=2))
    assert gantry_broker.now == 7200

def test_each_test_has_its_own(gantry_broker):
    assert gantry_broker.now == 0
"""

ASYNC = """
import pytest

async def test_expectations_explain(gantry_broker, gantry_topic):
    gantry_topic("orders")
    await gantry_broker.expect("orders", [])
    with pytest.raises(AssertionError, match="missing:  .b'a'."):
        await gantry_broker.expect("orders", [b"a"])
"""

SERVER = """
import socket

def test_it_listens(gantry_server):
    host, port = gantry_server.name_servers.split(":")
    socket.create_connection((host, int(port))).close()

def test_it_is_the_same(gantry_server):
    assert gantry_server.pid > 0
"""

LOADED = """
import sys

def test_nothing_is_loaded():
    loaded = {name for name in sys.modules if name.startswith("gantrymq.")}
    assert loaded == {"gantrymq.testing", "gantrymq.testing.plugin"}
"""


_QUIET = ("-p", "no:randomly", "-p", "no:cacheprovider")
_SYNC = ("-p", "no:asyncio")
_ASYNC = ("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function")


def run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess(*_QUIET, *arguments)


def test_tests_without_asyncio(pytester: pytest.Pytester) -> None:
    run(pytester, PLAIN, *_SYNC).assert_outcomes(passed=2)


def test_tests_with_asyncio(pytester: pytest.Pytester) -> None:
    run(pytester, ASYNC, *_ASYNC).assert_outcomes(passed=1)


def test_a_server_for_all_tests_of_a_run(pytester: pytest.Pytester) -> None:
    run(pytester, SERVER, *_SYNC).assert_outcomes(passed=2)


def test_fixtures_are_listed_with_their_description(pytester: pytest.Pytester) -> None:
    listed = run(pytester, PLAIN, *_SYNC, "--fixtures").stdout
    listed.fnmatch_lines(["*gantry_broker*", "*A broker for this test alone*"])


def test_run_without_the_fixtures_loads_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LOADED)
    done = pytester.runpytest_subprocess(*_QUIET, *_SYNC, "-p", "no:hypothesispytest")
    done.assert_outcomes(passed=1)


def test_nothing_but_the_plugin_needs_pytest(tmp_path: Path) -> None:
    (tmp_path / "pytest.py").write_text("raise ImportError('not installed')")
    code = "import gantrymq.testing.embedded, gantrymq.testing.server"
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
