"""Stream commands as processes: pipes, signals, and what they exit with."""

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
    """Runs `gantry` with the server's name server."""

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
        """Exit code, and what it wrote."""
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


def test_what_is_piped_in_comes_out(gantry: Gantry, tmp_path: Path) -> None:
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


def test_who_has_seen_enough_ends_it(gantry: Gantry) -> None:
    """Though nothing more comes."""
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
def test_a_signal_is_a_clean_end(
    gantry: Gantry, sent: signal.Signals, code: int, words: Sequence[str]
) -> None:
    gantry.run("produce", "-t", "Ended", "x")
    running = gantry.start(*words)
    assert running.stdout is not None
    running.stdout.readline()
    running.send_signal(sent)
    _, err = running.communicate(timeout=SECONDS)
    assert (running.returncode, err) == (code, b"")


def test_interrupted_input_tells_what_was_sent(gantry: Gantry) -> None:
    reading, writing = os.pipe()
    running = gantry.start("produce", "-t", "Typed", stdin=reading)
    os.close(reading)
    os.write(writing, b"a\nb\nunfinished")
    following = gantry.run("consume", "-t", "Typed", "--count", "2", "--output", "body")
    while following[0] != 0:  # the topic is made by the first message
        following = gantry.run("consume", "-t", "Typed", "--count", "2", "--output", "body")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=SECONDS)
    os.close(writing)
    assert running.returncode == 130
    assert err.startswith(b"gantry produce: interrupted; sent 2 messages of 2 bytes")


def test_a_line_without_end_is_refused(gantry: Gantry) -> None:
    code, _, err = gantry.run("produce", "-t", "Long", given=b"x" * (5 << 20))
    assert code == 1
    assert b"must be lines" in err


def test_an_output_that_is_closed_is_an_error(gantry: Gantry) -> None:
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
        ("consume --seconds 30", ["consume"]),  # it ends when it has read all there is
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
def test_a_bar_is_for_terminals_and_people(gantry: Gantry, form: str, is_drawn: bool) -> None:
    outer, inner = os.openpty()
    line = ("bench", "produce", "-t", "Bench", "--seconds", "1.5", "--output", form)
    running = subprocess.Popen(
        [GANTRY, *line], stdin=inner, stdout=inner, stderr=inner, env=gantry.environment
    )
    os.close(inner)
    shown = b""
    with suppress(OSError):  # the end of a terminal is an error
        while part := os.read(outer, 4096):
            shown += part
    assert running.wait(SECONDS) == 0
    os.close(outer)
    assert (b"%  [####" in shown) == is_drawn
    assert b"produce" in shown


def test_no_bar_is_drawn_into_pipes(gantry: Gantry) -> None:
    code, _, err = gantry.run("bench", "produce", "-t", "Bench", "--seconds", "1")
    assert (code, err) == (0, b"")
