"""Tests how a pod reaches its cluster's API: by TLS, with a token that the kubelet replaces."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.http import kube_api
from gantrymq.runtime.http.kube_api import (
    ApiAnswer,
    ApiPlace,
    KubeApi,
    UnansweredError,
    namespace_of_pod,
    place_of_pod,
)


@pytest.fixture(autouse=True)
def _long_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow for a busy machine, which answers late."""
    monkeypatch.setattr(kube_api, "REQUEST_SECONDS", 60.0)


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "api")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    pem = serialization.Encoding.PEM
    paths[0].write_bytes(certificate.public_bytes(pem))
    plain = serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return paths


@asynccontextmanager
async def api_of(folder: Path) -> AsyncIterator[str]:
    """The port of an API that answers with the token of the request."""
    certificate, key = make_certificate(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    async def show(request: web.Request) -> web.Response:
        return web.Response(text=request.headers["Authorization"])

    application = web.Application()
    application.router.add_get("/token", show)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    yield str(runner.addresses[0][1])
    await runner.cleanup()


@pytest.fixture
def account(tmp_path: Path) -> Path:
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text("first\n")
    (account / "namespace").write_text("mq\n")
    (account / "ca.crt").write_text("")
    return account


def environment(port: str) -> dict[str, str]:
    return {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}


async def test_a_token_that_is_replaced_is_read_anew(tmp_path: Path, account: Path) -> None:
    async with api_of(tmp_path) as port:
        (account / "ca.crt").write_bytes((tmp_path / "cert.pem").read_bytes())
        api = KubeApi(place_of_pod(environment(port), account), 1000)
        assert await api.ask("GET", "/token") == ApiAnswer(200, b"Bearer first")
        (account / "token").write_text("second")
        assert await api.ask("GET", "/token") == ApiAnswer(200, b"Bearer second")
        await api.close()


async def test_no_request_is_sent_to_an_api_with_an_unknown_authority(
    tmp_path: Path, account: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (account / "ca.crt").write_bytes(make_certificate(other)[0].read_bytes())
    async with api_of(tmp_path) as port:
        api = KubeApi(place_of_pod(environment(port), account), 1000)
        with pytest.raises(UnansweredError, match=r"was not sent: .*certificate"):
            await api.ask("GET", "/token")
        # The authority is replaced, and read again as well.
        (account / "ca.crt").write_bytes((tmp_path / "cert.pem").read_bytes())
        assert (await api.ask("GET", "/token")).status == 200
        await api.close()


async def test_no_request_is_sent_if_the_files_are_missing(account: Path) -> None:
    api = KubeApi(ApiPlace("https://127.0.0.1:1", account), 1000)
    (account / "token").unlink()
    with pytest.raises(UnansweredError, match=r"the request was not sent: .*token cannot be read"):
        await api.ask("GET", "/token")
    (account / "token").write_text("x")
    with pytest.raises(UnansweredError, match="is no certificate"):
        await api.ask("GET", "/token")
    await api.close()


@pytest.mark.parametrize("token", [b"", b"\xff\xfe", b"a\nb", b"a\0b"])
async def test_a_damaged_token_is_not_sent(account: Path, token: bytes) -> None:
    (account / "token").write_bytes(token)
    api = KubeApi(ApiPlace("https://127.0.0.1:1", account), 1000)
    with pytest.raises(UnansweredError, match=r"the request was not sent: .*token has no token"):
        await api.ask("GET", "/token")
    await api.close()


async def test_endless_response_is_an_error(tmp_path: Path, account: Path) -> None:
    async with api_of(tmp_path) as port:
        (account / "ca.crt").write_bytes((tmp_path / "cert.pem").read_bytes())
        api = KubeApi(place_of_pod(environment(port), account), 5)
        with pytest.raises(UnansweredError, match="more than 5 bytes"):
            await api.ask("GET", "/token")
        await api.close()


def test_address_of_the_api(account: Path) -> None:
    assert place_of_pod(environment("443"), account) == ApiPlace("https://127.0.0.1:443", account)
    six = {"KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert place_of_pod(six, account).url == "https://[fd00::1]:443"
    assert namespace_of_pod(account) == "mq"


def test_process_outside_of_a_pod_is_an_error(account: Path) -> None:
    with pytest.raises(ConfigurationError, match="no pod of a Kubernetes cluster"):
        place_of_pod({}, account)
    (account / "token").unlink()
    with pytest.raises(ConfigurationError, match="automountServiceAccountToken"):
        place_of_pod(environment("443"), account)
    assert namespace_of_pod(account / "none") == ""
