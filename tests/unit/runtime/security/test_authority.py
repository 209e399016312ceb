"""Tests certificates that `gantry secure` makes, as OpenSSL verifies them."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from pathlib import Path

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.security.authority import Issued, make_authority, make_certificate

NOW = datetime.datetime.now(datetime.UTC)


def handshake(tmp_path: Path, authority: Issued, issued: Issued, host: str) -> None:
    """Make one TLS connection in which both ends verify; ssl.SSLError if one end refuses."""
    names = {"ca": authority.certificate, "cert": issued.certificate, "key": issued.key}
    for name, content in names.items():
        (tmp_path / name).write_bytes(content)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.create_default_context(cafile=str(tmp_path / "ca"))
    for context in (server, client):
        context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    server.load_verify_locations(tmp_path / "ca")
    server.verify_mode = ssl.CERT_REQUIRED
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=_serve, args=(server, theirs))
    thread.start()
    try:
        with client.wrap_socket(ours, server_hostname=host) as connection:
            assert connection.recv(1) == b"x"
    finally:
        ours.close()
        thread.join()


def _serve(context: ssl.SSLContext, plain: socket.socket) -> None:
    try:
        with context.wrap_socket(plain, server_side=True) as connection:
            connection.send(b"x")
            connection.recv(1)
    except OSError:
        pass
    finally:
        plain.close()


@pytest.mark.parametrize("host", ["broker-1.example", "10.0.0.1", "::1"])
def test_certificate_is_valid_for_each_of_its_hosts(tmp_path: Path, host: str) -> None:
    authority = make_authority("authority", NOW)
    hosts = ["broker-1.example", "10.0.0.1", "[::1]"]
    issued = make_certificate(authority, "broker-1", hosts, NOW, 1)
    handshake(tmp_path, authority, issued, host)


def test_another_host_and_another_authority_are_refused(tmp_path: Path) -> None:
    authority = make_authority("authority", NOW)
    issued = make_certificate(authority, "broker-1", ["broker-1"], NOW, 1)
    with pytest.raises(ssl.SSLError):
        handshake(tmp_path, authority, issued, "broker-2")
    with pytest.raises(ssl.SSLError):
        handshake(tmp_path, make_authority("authority", NOW), issued, "broker-1")


def test_a_certificate_signs_no_other(tmp_path: Path) -> None:
    authority = make_authority("authority", NOW)
    server = make_certificate(authority, "broker-1", ["broker-1"], NOW, 1)
    forged = make_certificate(server, "broker-2", ["broker-2"], NOW, 1)
    chain = Issued(forged.certificate + server.certificate, forged.key)
    with pytest.raises(ssl.SSLError):
        handshake(tmp_path, authority, chain, "broker-2")


def test_an_expired_certificate_is_refused(tmp_path: Path) -> None:
    authority = make_authority("authority", NOW)
    issued = make_certificate(authority, "old", ["old"], NOW - datetime.timedelta(days=3), 1)
    with pytest.raises(ssl.SSLError):
        handshake(tmp_path, authority, issued, "old")


@pytest.mark.parametrize("host", ["ä.example", ""])
def test_invalid_host_is_an_error(host: str) -> None:
    authority = make_authority("authority", NOW)
    if host:
        with pytest.raises(ConfigurationError, match="is no name or address"):
            make_certificate(authority, "a", [host], NOW, 1)
    else:
        with pytest.raises(ConfigurationError, match="cannot be a certificate's name"):
            make_certificate(authority, "", [], NOW, 1)
