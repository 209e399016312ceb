"""A broker on real sockets and a real folder."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.base.group_secret import SECRETS_PATH, fingerprint
from gantrymq.broker import store_opening
from gantrymq.broker.configuration import load
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.peers import registrar
from gantrymq.broker.server import BrokerHost
from gantrymq.fakes.hosts import running, setup
from gantrymq.ha.member import disk_decision
from gantrymq.ha.member.disk_decision import Choice, Decision
from gantrymq.interop import ports
from gantrymq.namesrv.configuration import load as load_namesrv
from gantrymq.namesrv.server import NameServerHost
from gantrymq.runtime.http import shared_pages
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.store.progress import Progress
from gantrymq.store.recovery.recovery import Recovery
from gantrymq.wire import javajson
from gantrymq.wire.bodies.cluster import ClusterInfo
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.offset import GetMaxOffsetRequest
from gantrymq.wire.headers.pull import PullMessageRequest
from gantrymq.wire.headers.route import GetRouteInfoRequest
from gantrymq.wire.headers.topic import CreateTopicRequest


def port_of(host: BrokerHost, listener: str = "internal") -> str:
    address, port = host.addresses[listener]
    return f"{address}:{port}"


async def test_requests_are_answered_on_both_ports(tmp_path: Path) -> None:
    async with running(setup(tmp_path)) as host:
        dialer = Dialer()
        for listener in ("internal", "fast"):
            connection = dialer.connection(port_of(host, listener))
            response = await connection.request(Command(9999), 3.0)
            assert response.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        await dialer.close()


async def test_a_broker_registers_and_unregisters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registrar, "START_SECONDS", 60.0)  # a slow machine is waited for
    flags = {"listenPort": "0", "metricsPort": "0", "bindAddress": "127.0.0.1"}
    names = NameServerHost(load_namesrv(None, {}, flags, tmp_path))
    await names.start()
    address, port = next(iter(names.addresses.values()))
    dialer = Dialer()

    async def brokers() -> list[str]:
        command = Command(RequestCode.GET_BROKER_CLUSTER_INFO)
        response = await dialer.connection(f"{address}:{port}").request(command, 3.0)
        return list(ClusterInfo.from_json(javajson.loads(response.body)).brokers)

    async with running(setup(tmp_path, namesrvAddr=f"{address}:{port};127.0.0.1:1")):
        assert await brokers() == ["broker-a"]
    assert await brokers() == []
    await dialer.close()
    await names.stop()


async def test_name_server_that_hangs_delays_no_other(tmp_path: Path) -> None:
    silent = socket.create_server(("127.0.0.1", 0))  # connects, and says nothing
    port = silent.getsockname()[1]
    timeout_ms = "60000"
    chosen = setup(tmp_path, namesrvAddr=f"127.0.0.1:{port}", registerBrokerTimeoutMills=timeout_ms)
    async with asyncio.timeout(30), running(chosen) as host:
        assert host.addresses
    silent.close()


async def test_a_topic_has_its_route_when_its_creation_is_answered(tmp_path: Path) -> None:
    flags = {"listenPort": "0", "metricsPort": "0", "bindAddress": "127.0.0.1"}
    names = NameServerHost(load_namesrv(None, {}, flags, tmp_path))
    await names.start()
    address, port = next(iter(names.addresses.values()))
    silent = socket.create_server(("127.0.0.1", 0))  # connects, and says nothing
    dialer = Dialer()
    addresses = f"{address}:{port};127.0.0.1:{silent.getsockname()[1]}"
    async with running(setup(tmp_path, namesrvAddr=addresses)) as host:
        for n in range(5):
            created = await dialer.connection(port_of(host)).request(creating(f"T{n}"), 10.0)
            assert created.code == ResponseCode.SUCCESS
            header = GetRouteInfoRequest(topic=f"T{n}")
            asked = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext=header.encode())
            route = await dialer.connection(f"{address}:{port}").request(asked, 3.0)
            assert route.code == ResponseCode.SUCCESS
    silent.close()
    await dialer.close()
    await names.stop()


def creating(topic: str) -> Command:
    header = CreateTopicRequest(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=1,
        write_queue_nums=1,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        order=False,
    )
    return Command(RequestCode.UPDATE_AND_CREATE_TOPIC, ext=header.encode())


async def test_request_to_a_client_that_cannot_be_sent_ends_without_an_answer(
    tmp_path: Path,
) -> None:
    async with running(setup(tmp_path)) as host:
        dialer = Dialer()
        connection = dialer.connection(port_of(host))
        await connection.request(Command(9999), 3.0)
        (channel,) = host.channels
        answered = asyncio.get_running_loop().create_future()
        question = Command(RequestCode.GET_CONSUMER_RUNNING_INFO, body=bytes(17 << 20))
        host.state.task_runner.start(tasks.ask(channel, question, 3.0), answered.set_result, _raise)
        await connection.request(Command(9999), 3.0)
        assert await asyncio.wait_for(answered, 30.0) is None
        await dialer.close()


def _raise(error: Exception) -> None:
    raise error


async def test_a_stop_leaves_a_store_that_was_closed_cleanly(tmp_path: Path) -> None:
    chosen = setup(tmp_path)
    async with running(chosen) as host:
        connection_dialer = Dialer()
        header = GetMaxOffsetRequest(topic="T", queue_id=0)
        command = Command(RequestCode.GET_MAX_OFFSET, ext=header.encode())
        await connection_dialer.connection(port_of(host)).request(command, 3.0)
        await connection_dialer.close()
        assert (chosen.root / "abort").exists()
    assert not (chosen.root / "abort").exists()
    async with running(chosen) as host:
        assert not host.failed.done()


async def test_a_stop_answers_pulls_that_wait(tmp_path: Path) -> None:
    async with running(setup(tmp_path)) as host:
        dialer = Dialer()
        connection = dialer.connection(port_of(host))
        header = PullMessageRequest(
            consumer_group="CG", topic="BenchmarkTest", queue_id=0, queue_offset=0,
            max_msg_nums=32, sys_flag=2 | 4, commit_offset=0, suspend_timeout_millis=60_000,
            subscription="*", sub_version=0, expression_type="TAG",
        )  # fmt: skip
        command = Command(RequestCode.PULL_MESSAGE, ext=header.encode())
        waiting = asyncio.ensure_future(connection.request(command, 30.0))
        await asyncio.sleep(0)  # it leaves first
        await connection.request(Command(9999), 3.0)
        assert len(host.core.services.pull_request_hold) == 1
    assert (await waiting).code == ResponseCode.PULL_NOT_FOUND
    await dialer.close()


def test_unused_keys_of_java_are_logged_in_one_line_and_typing_errors_one_by_one(
    tmp_path: Path,
) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("adminBrokerThreadPoolNums=3\nbrokerFastFailureEnable=true\nlistenPrt=1\n")
    first, second = load(file, {}, {}, tmp_path).warnings
    assert "did you mean listenPort" in first
    assert second.endswith("no effect here: adminBrokerThreadPoolNums, brokerFastFailureEnable")


async def test_a_store_where_a_file_is_says_so(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ConfigurationError, match=r"^storePathRootDir=.*: File exists$"):
        BrokerHost(setup(tmp_path, storePathRootDir=str(file)))


def probed(port: int, path: str) -> tuple[int, str]:
    """As by a kubelet, from another thread."""
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        return answer.status, answer.read().decode()


def refused(port: int, path: str) -> tuple[int, str]:
    with pytest.raises(HTTPError) as error:
        probed(port, path)
    return error.value.code, error.value.read().decode()


async def test_a_broker_is_alive_and_not_ready_while_its_store_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, told = ports.free_port(), []
    tasks = Recovery.run

    def held(recovery: Recovery) -> Iterator[Progress]:
        """A step that holds the loop until the probes are answered."""
        yield Progress("cut", 3, 7)
        with ThreadPoolExecutor(1) as pool:
            told.append(pool.submit(probed, port, "/health/live").result())
            told.append(pool.submit(refused, port, "/health/ready").result())
        yield from tasks(recovery)

    monkeypatch.setattr(Recovery, "run", held)
    async with running(setup(tmp_path, metricsPort=str(port))):
        assert await asyncio.to_thread(probed, port, "/health/ready") == (200, "ready\n")
        assert await asyncio.to_thread(probed, port, "/health/live") == (200, "alive\n")
    (live, live_text), (ready, ready_text) = told
    where = "recovering the store, keeping a copy of what is cut off the log, 3 of 7 bytes for "
    assert (live, where in live_text) == (200, True)
    assert (ready, where in ready_text) == (503, True)


async def test_a_broker_is_not_ready_while_its_disk_takes_no_messages(tmp_path: Path) -> None:
    port = ports.free_port()
    # Every disk is fuller than that.
    full = {"diskSpaceWarningLevelRatio": "1", "diskMaxUsedSpaceRatio": "1"}
    async with running(setup(tmp_path, metricsPort=str(port), **full)):
        code, text = await asyncio.to_thread(refused, port, "/readyz")
    assert code == 503
    assert "the disk accepts no messages" in text


async def test_page_shows_the_fingerprints_of_the_secrets_in_use(tmp_path: Path) -> None:
    port, secret = ports.free_port(), tmp_path / "secret"
    secret.write_bytes(b"0123456789abcdef")
    async with running(setup(tmp_path, metricsPort=str(port), groupSecretFile=str(secret))):
        told = await asyncio.to_thread(probed, port, SECRETS_PATH)
    assert told == (200, fingerprint(secret.read_bytes()) + "\n")


async def test_metrics_are_there_before_the_store_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_opening, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(shared_pages, "REUSE_SECONDS_MAX", 0.0)
    port, told = ports.free_port(), []
    tasks = Recovery.run

    def scraped(recovery: Recovery) -> Iterator[Progress]:
        """Steps between which the loop turns until the scrape is answered."""
        with ThreadPoolExecutor(1) as pool:
            scrape = pool.submit(probed, port, "/metrics")
            while not scrape.done():
                yield Progress("log", 0, 1)
        told.append(scrape.result())
        yield from tasks(recovery)

    monkeypatch.setattr(Recovery, "run", scraped)
    async with running(setup(tmp_path, metricsPort=str(port))):
        _, text = await asyncio.to_thread(probed, port, "/metrics")
        assert "gantry_broker_topics" in text
    [(status, text)] = told
    assert status == 200
    assert "process_resident_memory_bytes" in text
    assert "gantry_broker_topics" not in text


async def test_a_stop_that_is_asked_for_while_the_store_recovers_is_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, tasks = setup(tmp_path), Recovery.run

    def first(recovery: Recovery) -> Iterator[Progress]:
        yield Progress("log", 0, 1)
        raise AssertionError("it was told to stop")

    monkeypatch.setattr(Recovery, "run", first)
    with pytest.raises(store_opening.StoppedError):
        await BrokerHost(chosen).start(lambda: True)
    monkeypatch.setattr(Recovery, "run", tasks)
    async with running(chosen) as host:
        assert host.addresses


async def test_a_half_done_archive_is_finished_before_the_store_is_opened(tmp_path: Path) -> None:
    async with running(setup(tmp_path)):
        pass
    root = tmp_path / "store"
    disk = FolderDisk(root)
    disk_decision.write(disk, Decision(Choice.ARCHIVE, "archive-1"))
    disk.make_folder("archive-1")
    disk.rename("checkpoint", "archive-1/checkpoint")
    disk.close()
    async with running(setup(tmp_path)):
        assert (root / "archive-1/gantry/decision").exists()
        assert (root / "archive-1/commitlog").is_dir()
        assert not (root / "gantry/decision").exists()
