"""Tests stream commands as processes: pipes, signals and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from gantrymq.testing.server import StandaloneServer

GANTRY = Path(sys.executable).with_name("gantry")
SECONDS = 60


class Gantry:
    """Runs `gantry` against the name server of a real server process."""

    def __init__(self, server: StandaloneServer) -> None:
        self.environment = {**os.environ, "NAMESRV_ADDR": server.name_servers}

    def start(self, *words: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [GANTRY, *words],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
        )

    def run(self, *words: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
        """Run a command; return its exit code and its output."""
        ran = subprocess.run(
            [GANTRY, *words],
            input=given,
            capture_output=True,
            env=self.environment,
            timeout=SECONDS,
            check=False,
        )
        return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def gantry(gantry_server: StandaloneServer) -> Gantry:
    return Gantry(gantry_server)


def test_piped_input_is_sent_and_read_back(gantry: Gantry, tmp_path: Path) -> None:
    lines = [b"line %d" % number for number in range(5_000)] + [b"\xff\xfe", b"no end"]
    place = ("-t", "Piped", "--queue", "broker-a:0")
    code, out, err = gantry.run("produce", *place, given=b"\n".join(lines))
    assert (code, err) == (0, b"")
    assert out.startswith(b"sent 5002 messages")
    file = tmp_path / "lines"
    file.write_bytes(b"from a file\n")
    assert gantry.run("produce", *place, "--file", str(file))[0] == 0
    count = ("--count", str(len(lines) + 1))
    code, out, _ = gantry.run("consume", "-t", "Piped", *count, "--output", "body")
    assert code == 0
    assert out.split(b"\n") == [*lines, b"from a file", b""]


def test_a_closed_output_pipe_ends_tail(gantry: Gantry) -> None:
    """The command ends although no further message arrives."""
    gantry.run("produce", "-t", "Head", "a", "b", "c")
    for words in (("consume", "-t", "Head"), ("tail", "-t", "Head")):
        running = gantry.start(*words)
        assert running.stdout is not None
        assert running.stdout.readline().startswith(b"#Stored")
        running.stdout.close()
        assert running.wait(SECONDS) == 0
        assert running.stderr is not None
        with running.stderr:
            assert running.stderr.read() == b""


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
@pytest.mark.parametrize(
    "words", [("tail", "-t", "Ended"), ("consume", "-t", "Ended", "-g", "Ended")], ids="-".join
)
def test_signals_end_a_stream_command_cleanly(
    gantry: Gantry, sent: signal.Signals, code: int, words: Sequence[str]
) -> None:
    gantry.run("produce", "-t", "Ended", "x")
    running = gantry.start(*words)
    assert running.stdout is not None
    running.stdout.readline()
    running.send_signal(sent)
    _, err = running.communicate(timeout=SECONDS)
    assert (running.returncode, err) == (code, b"")


def test_interrupted_produce_reports_what_was_sent(gantry: Gantry) -> None:
    reading, writing = os.pipe()
    running = gantry.start("produce", "-t", "Typed", stdin=reading)
    os.close(reading)
    os.write(writing, b"a\nb\nunfinished")
    following = gantry.run("consume", "-t", "Typed", "--count", "2", "--output", "body")
    while following[0] != 0:  # the first message creates the topic
        following = gantry.run("consume", "-t", "Typed", "--count", "2", "--output", "body")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=SECONDS)
    os.close(writing)
    assert running.returncode == 130
    assert err.startswith(b"gantry produce: interrupted; sent 2 messages of 2 bytes")


def test_a_line_that_is_too_long_is_refused(gantry: Gantry) -> None:
    code, _, err = gantry.run("produce", "-t", "Long", given=b"x" * (5 << 20))
    assert code == 1
    assert b"each line is a message" in err


def test_a_closed_standard_output_is_an_error(gantry: Gantry) -> None:
    gantry.run("produce", "-t", "Closed", "x")
    ran = subprocess.run(
        ["/bin/sh", "-c", f"exec {GANTRY} consume -t Closed --count 1 >&-"],
        stderr=subprocess.PIPE,
        env=gantry.environment,
        timeout=SECONDS,
        check=False,
    )
    assert ran.returncode == 1
    assert b"Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("produce --soon --seconds 0.5", ["produce"]),
        ("consume --seconds 30", ["consume"]),  # it ends when it has read all messages
        ("both --tasks 4 --seconds 0.5", ["produce", "consume"]),
    ],
)
def test_a_bench_ends_with_figures(gantry: Gantry, line: str, names: list[str]) -> None:
    topic = "-".join(["Figures", *names])
    gantry.run("produce", "-t", topic, "x", "--count", "100")
    code, out, err = gantry.run("bench", *line.split(), "-t", topic, "--output", "json")
    assert (code, err) == (0, b"")
    runs = json.loads(out)["runs"]
    assert [run["what"] for run in runs] == names
    for run in runs:
        assert run["messages"] > 0
        assert run["failed"] == 0
        assert run["p50Ms"] <= run["p99Ms"] <= run["maxMs"]


@pytest.mark.parametrize(("form", "is_drawn"), [("table", True), ("json", False)])
def test_a_bar_is_drawn_on_terminals_and_not_for_json(
    gantry: Gantry, form: str, is_drawn: bool
) -> None:
    outer, inner = os.openpty()
    line = ("bench", "produce", "-t", "Bench", "--seconds", "1.5", "--output", form)
    running = subprocess.Popen(
        [GANTRY, *line], stdin=inner, stdout=inner, stderr=inner, env=gantry.environment
    )
    os.close(inner)
    shown = b""
    with suppress(OSError):  # reading a closed terminal raises an error
        while part := os.read(outer, 4096):
            shown += part
    assert running.wait(SECONDS) == 0
    os.close(outer)
    assert (b"%  [####" in shown) == is_drawn
    assert b"produce" in shown


def test_no_bar_is_drawn_into_pipes(gantry: Gantry) -> None:
    code, _, err = gantry.run("bench", "produce", "-t", "Bench", "--seconds", "1")
    assert (code, err) == (0, b"")
