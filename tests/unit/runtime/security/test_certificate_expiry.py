"""Tests reading when a chain of certificates expires."""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gantrymq.runtime.security.certificate_expiry import expires_at


def certificate(until: datetime.datetime) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a name " * 9)])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
        .not_valid_after(until)
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


# From 2050 on years have four digits.
@pytest.mark.parametrize("year", [2026, 2049, 2050, 2110])
def test_the_end_of_the_validity_is_read(year: int) -> None:
    until = datetime.datetime(year, 12, 31, 23, 59, 58, tzinfo=datetime.UTC)
    assert expires_at(certificate(until)) == until.timestamp()


def test_earliest_expiry_of_a_chain_counts() -> None:
    years = (2031, 2029, 2035)
    ends = [datetime.datetime(year, 5, 1, tzinfo=datetime.UTC) for year in years]
    chain = "a comment\n" + "\n".join(map(certificate, ends))
    assert expires_at(chain) == ends[1].timestamp()


def test_text_without_a_certificate_has_no_expiry() -> None:
    whole = certificate(datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC))
    lines = whole.splitlines()
    assert expires_at("") is None
    assert expires_at("\n".join([lines[0], *lines[2:]])) is None
    assert expires_at("\n".join([*lines[:1], "AAAA", *lines[-1:]])) is None
