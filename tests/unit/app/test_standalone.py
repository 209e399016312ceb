"""Tests name server, broker and console in one process, on real sockets."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gantrymq.app.entry import dispatch
from gantrymq.app.standalone_setup import StandaloneOptions, load
from gantrymq.app.standalone_text import announcement
from gantrymq.fakes.brokers import sends
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.testing.server import ServerFailedError, StandaloneServer
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.offset import GetMaxOffsetRequest
from gantrymq.wire.headers.route import GetRouteInfoRequest


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StandaloneServer]:
    with StandaloneServer(tmp_path / "data") as started:
        yield started


async def route(dialer: Dialer, server: StandaloneServer, topic: str) -> TopicRouteData:
    header = GetRouteInfoRequest(topic=topic)
    command = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext=header.encode())
    response = await dialer.connection(server.name_servers).request(command, 5.0)
    assert response.code == ResponseCode.SUCCESS, response.remark
    return TopicRouteData.from_json(javajson.loads(response.body))


async def test_message_creates_its_topic_and_survives_a_restart(server: StandaloneServer) -> None:
    dialer = Dialer()
    (known,) = (await route(dialer, server, "TBW102")).brokers
    assert known.addresses == {0: server.broker}
    header = sends.message("Orders", queue_id=1)
    command = Command(RequestCode.SEND_MESSAGE_V2, ext=header.encode(), body=b"first")
    response = await dialer.connection(server.broker).request(command, 5.0)
    assert response.code == ResponseCode.SUCCESS, response.remark
    assert len((await route(dialer, server, "Orders")).queues) == 1
    await dialer.close()

    assert server.stop(signal.SIGINT) == 0
    assert {"lock", "gantry"} <= {path.name for path in (server.data / "store").iterdir()}
    server.start()
    dialer = Dialer()
    asked = GetMaxOffsetRequest(topic="Orders", queue_id=1)
    command = Command(RequestCode.GET_MAX_OFFSET, ext=asked.encode())
    response = await dialer.connection(server.broker).request(command, 5.0)
    assert response.ext is not None
    assert response.ext["offset"] == "1"
    await dialer.close()


def test_sigterm_stops_all_servers_cleanly(server: StandaloneServer) -> None:
    assert server.stop() == 0
    assert "Exception" not in server.log.read_text()


def test_second_signal_ends_the_process_at_once(server: StandaloneServer) -> None:
    # It wakes up with both of them: else it may have ended cleanly before the second one.
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
        os.kill(server.pid, number)
    assert server.stop() > 128


def test_the_console_and_the_metrics_answer(server: StandaloneServer) -> None:
    with urlopen(server.console_url) as response:  # noqa: S310 - our own address
        assert response.headers["Content-Type"].startswith("text/html")
        assert server.name_servers in response.read().decode()
    with urlopen(server.metrics_url) as response:  # noqa: S310 - as above
        text = response.read().decode()
    assert "gantry_broker_" in text
    assert "gantry_namesrv_" in text
    names = [line for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names)), "two servers of one process must not say the same twice"
    with pytest.raises(HTTPError):
        urlopen(server.console_url + "nowhere")  # noqa: S310 - as above


def test_announced_commands_work(server: StandaloneServer, tmp_path: Path) -> None:
    """The announced examples are run by Python as a shell would run them."""
    port = int(server.name_servers.rpartition(":")[2])
    text = announcement(load(StandaloneOptions(tmp_path, name_server_port=port), {}), 0.5)
    send, receive = re.findall(r"<<'END'\n(.*?)\nEND\n", text, re.DOTALL)
    sent = subprocess.run([sys.executable, "-c", send], capture_output=True, text=True, check=True)
    assert "SEND_OK" in sent.stdout
    with subprocess.Popen(
        [sys.executable, "-c", receive], stdout=subprocess.PIPE, text=True
    ) as receiver:
        assert receiver.stdout is not None
        assert "ReceivedMessage('try'" in receiver.stdout.readline()
        receiver.kill()


def test_folder_in_use_is_reported(server: StandaloneServer) -> None:
    second = StandaloneServer(server.data)
    second.log = server.data.parent / "second.log"
    with pytest.raises(ServerFailedError) as failure:
        second.start()
    text = str(failure.value)
    assert f"process {server.pid}" in text
    assert "--data" in text


def test_ports_in_use_are_reported_with_their_flags(
    server: StandaloneServer, tmp_path: Path
) -> None:
    names, broker = (address.rpartition(":")[2] for address in (server.name_servers, server.broker))
    flags = ["--namesrv-port", names, "--broker-port", broker, "--console-port", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "gantrymq.app", "standalone", "--data", str(tmp_path), *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 78
    lines = done.stderr.splitlines()
    assert any("name server" in line and "--namesrv-port" in line for line in lines)
    assert any("fast port" in line and f"process {server.pid}" in line for line in lines)


@pytest.mark.parametrize("name", ["--broker-port=2", "--console-port=http"])
def test_invalid_port_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        dispatch(["standalone", name])
    assert "is not a port" in capsys.readouterr().err


def test_sample_configuration_does_not_overwrite_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broker.conf"
    assert dispatch(["standalone", "--sample-config", str(path)]) == 0
    before = path.read_text()
    assert "#autoCreateTopicEnable=true" in before
    assert dispatch(["standalone", "--sample-config", str(path)]) == 78
    assert "exists already" in capsys.readouterr().err
    assert path.read_text() == before


def test_a_sample_configuration_goes_to_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert dispatch(["standalone", "--sample-config"]) == 0
    assert "#listenPort=10911" in capsys.readouterr().out
