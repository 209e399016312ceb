"""Passwords at rest."""

from __future__ import annotations

import pytest

from gantrymq.acl.users.seal import KEY_BYTES_MIN, PasswordSeal
from gantrymq.base.errors import ConfigurationError, RemoteError

KEY = b"k" * KEY_BYTES_MIN


def test_what_is_closed_is_opened_by_the_same_key() -> None:
    closed = PasswordSeal(KEY).close("pässword", "orders")
    assert "ssword" not in closed
    assert PasswordSeal(KEY).open(closed, "orders") == "pässword"


def test_members_with_one_key_write_the_same() -> None:
    assert PasswordSeal(KEY).close("a", "u") == PasswordSeal(KEY).close("a", "u")


def test_password_opens_neither_by_another_key_nor_for_another_user() -> None:
    closed = PasswordSeal(KEY).close("password", "orders")
    for seal, owner in (
        (PasswordSeal(b"x" * KEY_BYTES_MIN), "orders"),
        (PasswordSeal(KEY), "root"),
    ):
        with pytest.raises(RemoteError, match="cannot be decrypted"):
            seal.open(closed, owner)


@pytest.mark.parametrize("text", ["", "x", "####"])
def test_text_that_was_never_closed_is_refused(text: str) -> None:
    with pytest.raises(RemoteError, match="cannot be decrypted"):
        PasswordSeal(KEY).open(text, "orders")


def test_short_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="openssl rand"):
        PasswordSeal(KEY[1:])
