"""Tests the entry point: how it finds commands, what it imports, and its exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from gantrymq.app.entry import dispatch
from gantrymq.cli import catalog, completion
from gantrymq.cli.catalog import load
from gantrymq.cli.frame.page import Page, Table, Text
from gantrymq.cli.frame.screen import Screen, show_what_cannot_be_encoded
from gantrymq.cli.main import run
from gantrymq.client.core.errors import BrokerError


def test_every_command_of_the_catalog_loads() -> None:
    for name in catalog.names():
        entry = catalog.find(name)
        assert entry is not None
        assert load(entry).name == name


def test_no_command_is_left_out_of_the_catalog() -> None:
    modules = {entry.module for entry in map(catalog.find, catalog.names()) if entry is not None}
    for module in modules:
        commands = __import__(f"gantrymq.cli.{module}", fromlist=["COMMANDS"]).COMMANDS
        assert set(commands) <= set(catalog.names())


def test_no_option_is_declared_twice() -> None:
    for name in catalog.names():
        assert run([*name.split(), "-h"]) == 0


@pytest.mark.parametrize("line", ["--help", "topicList --help", "produce --help"])
def test_help_imports_nothing_that_connects(line: str) -> None:
    """Help must be quick, and asyncio alone takes longer than all the rest."""
    program = (
        "import sys; from gantrymq.app.entry import dispatch;"
        f" dispatch({line.split()!r}); print(sorted(sys.modules))"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = ran.stdout.splitlines()[-1]
    for module in ("asyncio", "aiohttp", "ssl", "yaml", "cryptography", "gantrymq.client.aio"):
        assert f"'{module}'" not in loaded


def test_help_shows_programs_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["--help"]) == 0
    shown = capsys.readouterr().out
    for word in ("broker ", "consumerProgress", "doctor"):
        assert word in shown


@pytest.mark.parametrize(("line", "exit_code"), [("user", 2), ("user -h", 0), ("help user", 0)])
def test_first_word_alone_shows_its_commands(
    line: str, exit_code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(line.split()) == exit_code
    shown = capsys.readouterr().out
    assert "user rotate" in shown
    assert "quota" not in shown


def test_unknown_second_word_shows_the_valid_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["quota", "remove", "user", "x"]) == 2
    assert capsys.readouterr().err == (
        "gantry quota: remove is not one of list, set, delete (gantry quota -h)\n"
    )


def test_an_unknown_command_shows_similar_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["topiclist"]) == 2
    assert "The sub command topiclist not exist. Did you mean topicList" in capsys.readouterr().err


def test_an_absent_command_names_its_replacement(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["electMaster", "-a", "x:1"]) == 1
    assert "brokerId=0" in capsys.readouterr().err


def test_a_missing_option_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["topicStatus"]) == 2
    assert "-t/--topic" in capsys.readouterr().err


def test_no_name_server_is_a_failure_that_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    assert dispatch(["topicList"]) == 1
    assert "NAMESRV_ADDR" in capsys.readouterr().err


class _Terminal:
    """Records text in place of a terminal or a pipe."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.text = ""
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


PAGE = Page(
    [Table("rows", ("#A B", "#QID"), "%-4s %d", [("x", 1)]), Text("said", ["done"], True)],
    [BrokerError(17, "no such topic", "b:1")],
)


def test_colours_appear_on_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for is_terminal in (True, False):
        out, err = (_Terminal(is_terminal=is_terminal) for _ in range(2))
        Screen(out, err, is_json=False).show("x", PAGE)  # type: ignore[arg-type]  # enough of it
        assert ("\x1b[" in out.text + err.text) == is_terminal
        assert "CODE: 17  DESC: no such topic  (from b:1)" in err.text


def test_control_characters_are_escaped() -> None:
    evil = "\x1b[2Jx\r\x9b1m"
    page = Page(
        [Table("rows", ("#A",), "%s", [(f"{evil}\ny",)]), Text("said", [f"{evil}\n\ty"], True)],
        [BrokerError(1, evil, "b:1")],
    )
    out, err = (_Terminal(is_terminal=True) for _ in range(2))
    Screen(out, err, is_json=False).show("x", page)  # type: ignore[arg-type]  # as above
    shown = r"\x1b[2Jx\r\x9b1m"
    assert f"{shown}\\ny\n{shown}\n\ty\n" in out.text
    assert shown in err.text
    piped = _Terminal(is_terminal=False)
    Screen(piped, err, is_json=False).show("x", page)  # type: ignore[arg-type]  # as above
    assert f"{shown}\\ny\n{evil}\n\ty\n" in piped.text


def test_characters_that_cannot_be_encoded_are_escaped() -> None:
    stored = io.BytesIO()
    out = io.TextIOWrapper(stored, encoding="ascii")
    show_what_cannot_be_encoded(out)
    Screen(out, out, is_json=False).show("x", Page([Text("said", ["über"], True)]))
    assert stored.getvalue() == b"\\xfcber\n"


def test_json_of_repeatable_parts_is_a_list() -> None:
    shown = Page()
    shown.say("done", "create topic to b:1 success.", "b:1")
    assert shown.json() == {"done": ["b:1"]}
    shown.say("done", "create topic to b:2 success.", "b:2")
    assert shown.json() == {"done": ["b:1", "b:2"]}


def test_json_is_one_object() -> None:
    out, err = (_Terminal(is_terminal=True) for _ in range(2))
    Screen(out, err, is_json=True).show("x", PAGE)  # type: ignore[arg-type]  # as above
    assert json.loads(out.text) == {"rows": [{"aB": "x", "qid": 1}], "said": True}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(shell: str) -> None:
    script = completion.script(shell)
    for word in ("consumerProgress", "groupName", "produce", "order-by", "queryMsgTraceById"):
        assert word in script


def test_stream_commands_have_no_watch_option() -> None:
    cases = {line.split(")")[0].strip(): line for line in completion.script("bash").splitlines()}
    assert "--watch" in cases["topicList"]
    assert "--watch" not in cases["tail"]


@pytest.mark.parametrize("shell", ["bash"])
def test_a_completion_script_is_valid_shell(shell: str) -> None:
    script = completion.script(shell)
    subprocess.run([shell, "-n"], input=script, text=True, check=True)
