"""Tests signatures as Java's clients make them and its servers check them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.acl.signature.signature import Credentials, is_signed, signature, signed
from gantrymq.wire.command import FLAG_ONEWAY, Command

FUNCTIONS = Path(__file__).parents[3] / "vectors" / "functions-5.3.3.json"
JAVAS = json.loads(FUNCTIONS.read_text())["acl"]
ME = Credentials("RocketMQ", "12345678")


def request(**ext: str) -> Command:
    return Command(10, ext=ext, body=b"hello")


def test_signature_equals_javas() -> None:
    body = JAVAS["body"].encode()
    assert signature(JAVAS["ext"], body, JAVAS["secretKey"]) == JAVAS["signature"]


def test_request_signed_by_java_is_valid() -> None:
    ext = {**JAVAS["ext"], "Signature": JAVAS["signature"]}
    assert is_signed(Command(10, ext=ext, body=JAVAS["body"].encode()), JAVAS["secretKey"])


@given(
    ext=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=5),
    body=st.binary(max_size=20),
)
def test_request_signed_by_gantry_is_valid(ext: dict[str, str], body: bytes) -> None:
    assert is_signed(signed(Command(10, ext=ext, body=body), ME), ME.secret_key)


def test_signature_with_another_key_is_invalid() -> None:
    assert not is_signed(signed(request(a="b"), ME), "12345679")


@pytest.mark.parametrize("text", ["", "é", "AAAA", "\ud800"])
def test_other_signature_is_invalid(text: str) -> None:
    assert not is_signed(request(AccessKey="RocketMQ", Signature=text), ME.secret_key)


def test_missing_signature_is_invalid() -> None:
    assert not is_signed(Command(10), ME.secret_key)


def test_changed_request_is_invalid() -> None:
    for changed in ({"b": "other"}, {"c": "more"}):
        command = signed(request(a="1", b="2"), ME)
        assert command.ext is not None
        command.ext.update(changed)
        assert not is_signed(command, ME.secret_key)
    other_body = signed(request(a="1"), ME)
    other_body.body = b"hallo"
    assert not is_signed(other_body, ME.secret_key)


def test_query_by_unique_key_may_be_signed_with_or_without_the_field() -> None:
    """Clients of 4.9 add the field after signing; those of 5.3 sign it as well."""
    older = signed(request(topic="T"), ME)
    assert older.ext is not None
    older.ext["_UNIQUE_KEY_QUERY"] = "true"
    assert is_signed(older, ME.secret_key)
    assert is_signed(signed(request(topic="T", _UNIQUE_KEY_QUERY="true"), ME), ME.secret_key)


def test_signing_adds_only_the_signature_fields() -> None:
    plain = Command(10, flag=FLAG_ONEWAY, language=3, version=7, body=b"x", encoding=1)
    sent = signed(plain, ME)
    assert plain.ext is None
    sent.ext = None
    assert sent == plain


def test_a_secret_is_not_shown() -> None:
    assert "12345678" not in repr(ME)
