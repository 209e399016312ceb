"""Tests the watch of the file of accounts: changes are read, and unusable ones are ignored."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gantrymq.acl.plain.accounts import Rules
from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.logs import Log
from gantrymq.runtime.security.acl_file import AclFile, read_credentials

ONE = "accounts:\n- {accessKey: first-one, secretKey: 12345678}\n"
TWO = ONE + "- {accessKey: second-one, secretKey: 12345678}\n"
SECONDS = 20.0


class Watched:
    """A file and the rules that its watcher reported."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.write_text(ONE)
        self.file = AclFile(path, Log("test"), look_seconds=0.001)
        self.told: asyncio.Queue[Rules] = asyncio.Queue()

    async def next_keys(self) -> list[str]:
        async with asyncio.timeout(SECONDS):
            return list((await self.told.get()).accounts)


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    watched = Watched(tmp_path / "plain_acl.yml")
    assert list(watched.file.load().accounts) == ["first-one"]
    watched.file.watch(watched.told.put_nowait)
    yield watched
    await watched.file.stop()


async def test_change_is_applied(watched: Watched) -> None:
    watched.path.write_text(TWO)
    keys = await watched.next_keys()
    while keys != ["first-one", "second-one"]:  # the watcher may read a half-written file
        keys = await watched.next_keys()


async def test_file_without_accounts_admits_no_client(watched: Watched) -> None:
    watched.path.write_text("accounts: []\n")
    assert await watched.next_keys() == []


async def test_change_of_a_file_behind_a_link_is_noticed(watched: Watched) -> None:
    """Kubernetes changes mounted files by replacing a link."""
    other = watched.path.with_name("other.yml")
    other.write_text(TWO)
    link = watched.path.with_name("link")
    link.symlink_to(other)
    link.replace(watched.path)
    assert await watched.next_keys() == ["first-one", "second-one"]


@pytest.mark.parametrize("slip", ["accounts: x", "", "# to be written\n", None])
async def test_malformed_change_is_ignored_until_it_is_corrected(
    watched: Watched, slip: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    if slip is None:
        watched.path.unlink()
    else:
        new = watched.path.with_name("new")
        new.write_text(slip)
        new.replace(watched.path)
    async with asyncio.timeout(SECONDS):
        while "the rules stay as they were" not in caplog.text:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0)
    assert watched.told.empty()
    mended = watched.path.with_name("mended")
    mended.write_text(TWO)
    mended.replace(watched.path)
    assert await watched.next_keys() == ["first-one", "second-one"]
    assert caplog.text.count("the rules stay as they were") == 1


async def test_rules_that_cannot_be_applied_do_not_end_the_watch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watched = Watched(tmp_path / "plain_acl.yml")
    watched.file.load()

    def take(rules: Rules) -> None:
        if not caplog.records:
            raise ValueError("not these")
        watched.told.put_nowait(rules)

    watched.file.watch(take)
    watched.path.with_name("new").write_text(TWO)
    watched.path.with_name("new").replace(watched.path)
    async with asyncio.timeout(SECONDS):
        while "not these" not in caplog.text:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0)
    watched.path.with_name("newer").write_text(ONE)
    watched.path.with_name("newer").replace(watched.path)
    assert await watched.next_keys() == ["first-one"]
    await watched.file.stop()


def test_ignored_content_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "plain_acl.yml"
    path.write_text("account: []\n")
    AclFile(path, Log("test")).load()
    assert "did you mean accounts?" in caplog.text


@pytest.mark.parametrize("content", [None, "accounts: x", "\x00"])
def test_start_without_accounts_names_the_fix(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "plain_acl.yml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(
        ConfigurationError, match=rf"aclFile={path} cannot be used: .*aclEnable=false"
    ):
        AclFile(path, Log("test")).load()


def test_credentials_are_read(tmp_path: Path) -> None:
    path = tmp_path / "tools.yml"
    path.write_text(f"accessKey: broker-key{os.linesep}secretKey: 12345678\n")
    assert read_credentials(path) == Credentials("broker-key", "12345678")
    with pytest.raises(ConfigurationError, match=r"aclCredentialsFile=.*cannot be used"):
        read_credentials(tmp_path / "absent")
