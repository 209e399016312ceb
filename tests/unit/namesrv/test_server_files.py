"""Tests that a name server writes its files before it answers, and refuses what it cannot write."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from gantrymq.fakes.brokers.namesrv_host import SECONDS, Dial, StartHost, until
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command


async def test_kv_and_settings_are_on_disk_when_answered_and_survive_a_restart(
    start_host: StartHost, dial: Dial, tmp_path: Path
) -> None:
    host = await start_host()
    client = dial(host, "internal")
    (tmp_path / "namesrv.properties").write_text("# mine\nclusterTest=true\n")
    item = {"namespace": "n", "key": "k", "value": "v"}
    for command in (
        Command(Code.PUT_KV_CONFIG, ext=item),
        Command(Code.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true"),
    ):
        assert (await client.request(command, SECONDS)).code == 0
    assert (tmp_path / "kvConfig.json").read_text() == '{"configTable":{"n":{"k":"v"}}}'
    text = (tmp_path / "namesrv.properties").read_text()
    assert text == "# mine\nclusterTest=true\norderMessageEnable=true\n"
    second = dial(await start_host(), "internal")
    answer = await second.request(Command(Code.GET_KV_CONFIG, ext=item), SECONDS)
    assert answer.ext == {"value": "v"}


async def test_a_file_that_cannot_be_written_refuses_the_change(
    start_host: StartHost, dial: Dial, tmp_path: Path
) -> None:
    client = dial(await start_host(), "internal")
    (tmp_path / "kvConfig.json").mkdir()
    item = {"namespace": "n", "key": "k", "value": "v"}
    answer = await client.request(Command(Code.PUT_KV_CONFIG, ext=item), SECONDS)
    assert answer.code == 1
    assert "kvConfigPath could not be written" in str(answer.remark)
    answer = await client.request(Command(Code.GET_KV_CONFIG, ext=item), SECONDS)
    assert answer.code == 22


async def test_stopping_waits_for_files_before_it_closes_connections(
    start_host: StartHost, dial: Dial, tmp_path: Path
) -> None:
    host = await start_host()
    client = dial(host, "internal")
    disk_works = threading.Event()
    host._saver._thread.submit(disk_works.wait)
    item = {"namespace": "n", "key": "k", "value": "v"}
    asking = asyncio.ensure_future(client.request(Command(Code.PUT_KV_CONFIG, ext=item), SECONDS))
    await until(lambda: bool(host._tasks))
    stopping = asyncio.ensure_future(host.stop())
    for _ in range(100):
        await asyncio.sleep(0)
    assert not host._server._is_stopping

    disk_works.set()

    await stopping
    assert (await asking).code == 0
    assert (tmp_path / "kvConfig.json").exists()


async def test_a_settings_file_broken_by_hand_refuses_the_change_and_those_after_it(
    start_host: StartHost, dial: Dial, tmp_path: Path
) -> None:
    client = dial(await start_host(), "internal")
    (tmp_path / "namesrv.properties").write_text("path=C:\\users\n")
    change = Command(Code.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true")
    for _ in range(2):
        answer = await client.request(change, SECONDS)
        assert answer.code == 1
        assert "needs four hexadecimal digits" in str(answer.remark)

    (tmp_path / "namesrv.properties").unlink()
    assert (await client.request(change, SECONDS)).code == 0


async def test_a_path_in_a_circle_refuses_the_change_and_those_after_it(
    start_host: StartHost, dial: Dial, tmp_path: Path
) -> None:
    client = dial(await start_host(), "internal")
    (tmp_path / "kvConfig.json").symlink_to("kvConfig.json")
    change = Command(Code.PUT_KV_CONFIG, ext={"namespace": "n", "key": "k", "value": "v"})
    for _ in range(2):
        answer = await client.request(change, SECONDS)
        assert answer.code == 1
        assert "kvConfigPath could not be written" in str(answer.remark)
