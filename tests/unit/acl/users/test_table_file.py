"""Tests the file of users: it is read as it was written, and other content is refused."""

from __future__ import annotations

import json

import pytest

from gantrymq.acl.users import table_file
from gantrymq.acl.users.table import UserTable
from gantrymq.base.errors import RemoteError
from gantrymq.wire.bodies.auth import PolicyEntryInfo, PolicyInfo, UserInfo


class Reversed:
    """A seal that anyone can open."""

    def close(self, secret: str, owner: str) -> str:
        return owner + secret[::-1]

    def open(self, sealed: str, owner: str) -> str:
        assert sealed.startswith(owner)
        return sealed.removeprefix(owner)[::-1]


ENTRY = PolicyEntryInfo(
    resource="Topic:Orders*",
    actions=("Pub", "Sub"),
    source_ips=("10.0.0.0/8", "::1"),
    decision="Deny",
)
TABLE = (
    UserTable()
    .created(UserInfo(username="orders", password="12345678", user_status="disable"))
    .created(UserInfo(username="root", password="secret-1", user_type="Super"))
    .updated(UserInfo(username="root", password="secret-2", old_password_seconds=-1), 0)
    .with_policies("orders", [PolicyInfo(policy_type="Default", entries=(ENTRY,))])
)


def test_written_table_is_read_back() -> None:
    assert table_file.read(table_file.write(TABLE)) == TABLE


def test_sealed_file_shows_no_password() -> None:
    content = table_file.write(TABLE, Reversed())
    assert b"12345678" not in content
    assert b"secret" not in content
    assert table_file.read(content, Reversed()) == TABLE


def test_sealed_file_without_a_key_is_refused() -> None:
    content = table_file.write(TABLE, Reversed())
    with pytest.raises(RemoteError, match="authKeyFile"):
        table_file.read(content)


def test_file_in_clear_is_read_with_a_key_too() -> None:
    assert table_file.read(table_file.write(TABLE), Reversed()) == TABLE


def test_password_that_looks_sealed_is_refused() -> None:
    table = UserTable().created(UserInfo(username="orders", password="sealed:x"))
    with pytest.raises(RemoteError, match="begins with sealed:"):
        table_file.write(table)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"users": [{"name": "a", "password": "b", "type": "Root", "status": "enable"}]},
        {"users": [{"name": "a", "password": "b", "type": "Normal", "status": "on"}]},
        {"users": [{"name": "a", "type": "Normal", "status": "enable"}]},
    ],
)
def test_file_of_unknown_content_is_refused(change: dict[str, object]) -> None:
    bean = json.loads(table_file.write(TABLE)) | change
    with pytest.raises(RemoteError):
        table_file.read(json.dumps(bean).encode())


def test_table_beyond_the_size_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_file, "BYTES_MAX", 100)
    with pytest.raises(RemoteError, match="full"):
        table_file.write(TABLE)
