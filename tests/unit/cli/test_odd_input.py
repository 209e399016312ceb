"""Tests that every command refuses invalid input with an error of one or two lines."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from gantrymq.app.entry import dispatch
from gantrymq.base.errors import GantryError
from gantrymq.cli import catalog
from gantrymq.cli.catalog import load
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import UsageError
from gantrymq.cli.frame.option import Option
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.fakes.command_line import page_of

COMMANDS = catalog.names()
# They need no server.
LOCAL = {"DecodeMessageId"}
MESSAGE_ID = "7F0000010000271100000000000000AB"
VALUES = {
    "topic": "NoTopic",
    "topicName": "NoTopic",
    "groupName": "NoGroup",
    "group": "NoGroup",
    "consumerGroup": "NoGroup",
    "producerGroup": "NoGroup",
    "srcGroup": "NoGroup",
    "destGroup": "OtherGroup",
    "clusterName": "NoCluster",
    "cluster": "NoCluster",
    "brokerName": "no-broker",
    "msgId": MESSAGE_ID,
    "messageId": MESSAGE_ID,
    "timestamp": "now",
    "method": "get",
    "mode": "POP",
    "what": "produce",
    "body": "x",
    "perm": "6",
    "attributes": "+a=b",
    "filename": "/no/such/file.json",
    "ipList": "10.0.0.1",
    "accessKey": "someone",
    "secretKey": "12345678",
    "globalWhiteAddrs": "10.0.0.*",
    "role": "observer",
    "kind": "topic",
    "name": "NoTopic",
    "requestsPerSecond": "1000",
}
# Given to commands that require one of several options.
ALSO = {"clusterName", "cluster", "body", "password", "role", "requestsPerSecond"}


def words(name: str, address: str = "127.0.0.1:1") -> list[str]:
    """Return a command line with all required options."""
    line: list[str] = []
    for option in options(name):
        if option.is_flag or not (
            option.is_required or option.is_positional or option.name in ALSO
        ):
            continue
        is_address = option.name in {"brokerAddr", "broker", "fromBroker", "toBroker"}
        value = address if is_address else VALUES.get(option.name, "1")
        line += [value] if option.is_positional else [f"--{option.name}", value]
    return line


def options(name: str) -> tuple[Option, ...]:
    entry = catalog.find(name)
    assert entry is not None
    return load(entry).options


@pytest.fixture
def closed_address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """NAMESRV_ADDR: an address that is bound, but at which no server listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("NAMESRV_ADDR", address)
        monkeypatch.delenv("ROCKETMQ_HOME", raising=False)
        yield address


def error_output(capfd: pytest.CaptureFixture[str]) -> str:
    """Return standard error, which has two lines at most and no stack trace."""
    error = capfd.readouterr().err
    assert "Traceback" not in error
    assert len(error.splitlines()) <= 2, error
    return error


@pytest.mark.parametrize("name", COMMANDS)
def test_without_options(name: str, closed_address: str, capfd: pytest.CaptureFixture[str]) -> None:
    exit_code = dispatch(name.split())
    error = error_output(capfd)
    if any(option.is_required for option in options(name)):
        assert exit_code == 2
        assert f"gantry {name}: the following arguments are required: " in error
        assert error.endswith(f"(gantry {name} -h)\n")
    else:
        assert exit_code in {1, 2}


@pytest.mark.parametrize("name", COMMANDS)
def test_with_an_unknown_option(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert dispatch([*name.split(), *words(name), "--no-such-option"]) == 2
    assert "unrecognized arguments: --no-such-option" in error_output(capfd)


@pytest.mark.parametrize("name", COMMANDS)
def test_with_an_invalid_number(
    name: str, closed_address: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert dispatch([*name.split(), *words(name), "--timeout", "soon"]) in {1, 2}
    assert error_output(capfd)


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - LOCAL))
def test_with_a_name_server_that_is_down(
    name: str, closed_address: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert dispatch([*name.split(), *words(name, closed_address)]) == 1
    captured = capfd.readouterr()
    assert "Traceback" not in captured.err
    assert len(captured.err.splitlines()) <= 2, captured.err
    shown = captured.err + captured.out
    # A file that is not there is found out before; an offset id names its broker.
    assert closed_address in shown or "/no/such/file" in shown or "to 127.0.0.1:10001" in shown


@pytest.mark.parametrize("what", ["consume", "both"])
def test_bench_with_a_name_server_that_is_down(
    what: str, closed_address: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(["bench", what, "-t", "T"]) == 1
    assert closed_address in error_output(capfd)


PAGES = [
    name
    for name in COMMANDS
    if (entry := catalog.find(name)) is not None and isinstance(load(entry), Command)
]


@pytest.mark.parametrize("name", PAGES)
def test_with_an_unknown_topic_or_group(name: str) -> None:
    cluster = Cluster(topics={})
    _must_end_well(cluster, name)


@pytest.mark.parametrize("name", PAGES)
def test_with_a_broker_that_is_down(name: str) -> None:
    cluster = Cluster("broker-a", "broker-b", topics={"NoTopic": 1})
    cluster.faults.update(dict.fromkeys(cluster.addresses, gone))
    _must_end_well(cluster, name)


@pytest.mark.parametrize("odd", ["-1", "99999999999999999999999", "many"])
@pytest.mark.parametrize("name", PAGES)
def test_with_odd_values(name: str, odd: str) -> None:
    """Each option with a value gets odd values, one after another."""
    cluster = Cluster(topics={"NoTopic": 1})
    for option in options(name):
        if option.is_flag:
            continue
        line = words(name, cluster.addresses[0])
        if f"--{option.name}" in line:
            place = line.index(f"--{option.name}")
            del line[place : place + 2]
        text = " ".join([name, *line, f"--{option.name}={odd}"])
        with suppress(GantryError):
            page_of(cluster, text.replace("NoCluster", "DefaultCluster"))


def _must_end_well(cluster: Cluster, name: str) -> None:
    """Run the command. It must make a page, or raise an error of two lines at most."""
    line = " ".join([name, *words(name, cluster.addresses[0])])
    try:
        page = page_of(cluster, line.replace("NoCluster", "DefaultCluster"))
    except UsageError as error:
        pytest.fail(f"{line}: {error}")
    except GantryError as error:
        failures: list[Exception] = [error]
    else:
        failures = page.failures
    for failure in failures:
        assert isinstance(failure, GantryError), failure
        assert len(str(failure).splitlines()) <= 2


@pytest.mark.parametrize(
    "words",
    [
        ["produce", "-t", "a b", "x"],
        ["produce", "-t", "é", "x"],
        ["produce", "-t", "t" * 128, "x"],
        ["consume", "-t", "a b"],
        ["consume", "-t", "T", "-g", "a/b"],
        ["consume", "-t", "T", "-g", "g" * 256],
        ["tail", "-t", "a b"],
        ["bench", "produce", "-t", "a b"],
        ["bench", "consume", "-t", "a b"],
    ],
)
def test_an_invalid_name_is_wrong_usage(
    words: list[str], closed_address: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert dispatch(words) == 2
    assert error_output(capfd).startswith(f"gantry {words[0]}: The specified ")
