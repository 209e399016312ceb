"""Tests that fingerprints are the same everywhere and reveal nothing of the secret."""

from __future__ import annotations

from gantrymq.base.group_secret import FINGERPRINT_DIGITS, fingerprint, secret_lines

SECRET = b"0123456789abcdef"


def test_a_fingerprint_is_the_same_in_every_version() -> None:
    assert fingerprint(SECRET) == "8a0570bbb15369c3"


def test_two_secrets_have_two_fingerprints_of_a_fixed_length() -> None:
    found = {fingerprint(SECRET), fingerprint(SECRET + b"0")}
    assert len(found) == 2
    assert {len(each) for each in found} == {FINGERPRINT_DIGITS}


def test_blanks_and_empty_lines_are_no_secrets() -> None:
    assert secret_lines(b" a \r\n\n\tb") == (b"a", b"b")
    assert secret_lines(b"\n \n") == ()
