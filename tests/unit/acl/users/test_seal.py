"""Tests the encryption of passwords in the file of users."""

from __future__ import annotations

import pytest

from gantrymq.acl.users.seal import KEY_BYTES_MIN, PasswordSeal
from gantrymq.base.errors import ConfigurationError, RemoteError

KEY = b"k" * KEY_BYTES_MIN


def test_sealed_password_is_opened_with_the_same_key() -> None:
    closed = PasswordSeal(KEY).close("pässword", "orders")
    assert "ssword" not in closed
    assert PasswordSeal(KEY).open(closed, "orders") == "pässword"


def test_brokers_with_the_same_key_write_the_same_text() -> None:
    assert PasswordSeal(KEY).close("a", "u") == PasswordSeal(KEY).close("a", "u")


def test_password_opens_only_with_its_key_and_for_its_user() -> None:
    closed = PasswordSeal(KEY).close("password", "orders")
    for seal, owner in (
        (PasswordSeal(b"x" * KEY_BYTES_MIN), "orders"),
        (PasswordSeal(KEY), "root"),
    ):
        with pytest.raises(RemoteError, match="cannot be decrypted"):
            seal.open(closed, owner)


@pytest.mark.parametrize("text", ["", "x", "####"])
def test_text_that_was_never_sealed_is_refused(text: str) -> None:
    with pytest.raises(RemoteError, match="cannot be decrypted"):
        PasswordSeal(KEY).open(text, "orders")


def test_short_key_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="openssl rand"):
        PasswordSeal(KEY[1:])
