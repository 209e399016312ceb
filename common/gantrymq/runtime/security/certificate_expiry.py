"""Reads when the certificates of a PEM file expire.

It parses only the part of X.509 (RFC 5280, 4.1) that leads to the end of the validity:

    Certificate       SEQUENCE: TBSCertificate, ...
    TBSCertificate    SEQUENCE: [0] version, which may be missing; serial number, algorithm, issuer,
                      Validity, ...
    Validity          SEQUENCE: two times, UTCTime (two digits of the year) or GeneralizedTime

An X.509 library would take 8 MiB and 0.1 s at the start, and servers need it for nothing else.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

_BLOCK: Final = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_VERSION_TAG: Final = 0xA0
_UTC_TIME_TAG: Final = 0x17
_LONG_LENGTH: Final = 0x80
_VALIDITY: Final = 3  # index of Validity: after serial number, algorithm and issuer


def expires_at(pem: str) -> float | None:
    """When the first of the certificates expires, in seconds of the Unix epoch.

    None if the text has no certificate, or a malformed one.
    """
    try:
        blocks = _BLOCK.findall(pem)
        return min((_not_after(ssl.PEM_cert_to_DER_cert(each)) for each in blocks), default=None)
    except (IndexError, ValueError):
        return None


def _not_after(certificate: bytes) -> float:
    [(_, content), *_] = _elements(certificate)
    [(_, signed), *_] = _elements(content)
    parts = [part for tag, part in _elements(signed) if tag != _VERSION_TAG]
    _, (tag, time) = _elements(parts[_VALIDITY])
    form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME_TAG else "%Y%m%d%H%M%SZ"
    return datetime.strptime(time.decode("ascii"), form).replace(tzinfo=UTC).timestamp()


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The tag and the content of each DER element. All tags that occur here are one byte long."""
    at = 0
    while at < len(data):
        tag, length = data[at], data[at + 1]
        at += 2
        if length & _LONG_LENGTH:
            size = length & ~_LONG_LENGTH
            length = int.from_bytes(data[at : at + size])
            at += size
        yield tag, data[at : at + length]
        at += length
