"""Installs and runs Gantry with the README's own commands, in a clean checkout, as a new user does.

The commands compile. With GANTRY_BUILD=pure in the environment they do not, which saves minutes.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gantrymq.testing.server import READY, free_ports

ROOT = Path(__file__).resolve().parent.parent.parent
MORE_EXAMPLES = ("02_blocking", "15_lite_pull", "24_administration")
STOP_SECONDS = 60.0

pytestmark = [pytest.mark.build, pytest.mark.timeout(1800)]


def section(title: str) -> str:
    """One section of the README."""
    text = (ROOT / "README.md").read_text()
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    [found] = [each for each in sections if each.startswith(f"{title}\n")]
    return found


def blocks(title: str = "Install and run") -> list[str]:
    """The indented blocks of a section: commands, output, code."""
    found = re.findall(r"(?:^    .*\n|^\n+(?=    ))+", section(title), re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE).strip("\n") for block in found]


def commands() -> list[str]:
    return [line for line in blocks()[0].splitlines() if "<this repository>" not in line]


class NewUser:
    """An empty home folder and ports that are free."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.clone = home / "gantry"
        names, broker, metrics, console = free_ports()
        self.environment = {
            **{name: value for name, value in os.environ.items() if "VIRTUAL_ENV" not in name},
            "HOME": str(home),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
            "XDG_STATE_HOME": "",
            "NAMESRV_ADDR": f"127.0.0.1:{names}",
            "GANTRY_NAMESRV_PORT": str(names),
            "GANTRY_BROKER_PORT": str(broker),
            "GANTRY_METRICS_PORT": str(metrics),
            "GANTRY_CONSOLE_PORT": str(console),
        }

    def run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=self.clone,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def check_out(folder: Path) -> None:
    """Copy the files that git tracks or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewUser]:
    """A user with Gantry installed and the standalone server running."""
    user = NewUser(tmp_path_factory.mktemp("home"))
    check_out(user.clone)
    install, start = commands()
    user.run(install)
    server = subprocess.Popen(
        ["bash", "-euc", f"exec {start}"],
        cwd=user.clone,
        env=user.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline().startswith(READY)
        yield user
        server.send_signal(signal.SIGTERM)
        assert server.wait(STOP_SECONDS) == 0
    finally:
        server.kill()
        server.communicate()


def test_first_example_prints_what_the_readme_shows(user: NewUser) -> None:
    _, first_example, output = blocks()
    assert user.run(first_example) == f"{output}\n"


def test_readme_shows_the_code_of_the_first_example() -> None:
    text = (ROOT / "examples" / "01_first_message.py").read_text()
    docstring_end = ast.parse(text).body[0].end_lineno
    [code] = blocks("The first message in Python")
    assert code == "\n".join(text.splitlines()[docstring_end:]).strip("\n")


@pytest.mark.parametrize("name", MORE_EXAMPLES)
def test_examples_run_with_the_installed_package(user: NewUser, name: str) -> None:
    text = ast.get_docstring(ast.parse((ROOT / "examples" / f"{name}.py").read_text())) or ""
    said = re.sub("^    ", "", text.partition("\nPrints:\n")[2], flags=re.MULTILINE)
    assert user.run(f"~/gantry-env/bin/python examples/{name}.py") == f"{said}\n"


def test_programs_are_installed_and_print_their_settings(user: NewUser) -> None:
    expected = "pure" if os.environ.get("GANTRY_BUILD") == "pure" else "compiled"
    assert f"hot modules {expected}" in user.run("~/gantry-env/bin/gantry --version")
    assert "broker-a" in user.run("~/gantry-env/bin/mqadmin clusterList")
    assert "listenPort=10911" in user.run("unset ${!GANTRY_*}; ~/gantry-env/bin/mqbroker -p")
    assert "listenPort=9876" in user.run("unset ${!GANTRY_*}; ~/gantry-env/bin/mqnamesrv -p")
    assert "usage" in user.run("~/gantry-env/bin/mqshutdown 2>&1 || true")


def test_pytest_finds_the_plugin(user: NewUser) -> None:
    listing = "from importlib.metadata import entry_points as e; print(*e(group='pytest11'))"
    assert "gantrymq.testing.plugin" in user.run(f'~/gantry-env/bin/python -c "{listing}"')


def test_installing_and_starting_takes_two_commands() -> None:
    assert len(commands()) == 2
