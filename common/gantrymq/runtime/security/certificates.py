"""Reads TLS settings as RocketMQ names them, and makes TLS contexts from them.

| key | meaning |
|---|---|
| tls.server.mode | permissive (plain and TLS on one port), enforcing, disabled |
| tls.server.certPath, keyPath, keyPassword | the server's certificate and key |
| tls.server.need.client.auth | none, optional, require: what clients must present |
| tls.server.trustCertPath | the authorities that clients' certificates must be signed by |
| tls.client.certPath, keyPath, keyPassword | the client's certificate and key |
| tls.client.authServer, tls.client.trustCertPath | whether and by what it verifies servers |
| tls.enable | whether outgoing connections use TLS; default: tls.server.mode=enforcing |
| tls.test.mode.enable | a self-signed certificate, and clients that trust every certificate |

Names in certificates are not compared with addresses: RocketMQ's clients connect to IP addresses
from routes, and its certificates seldom contain them. Trust depends on the signer alone.

Stricter than Java in two points. Test mode is the default only if no certificate path is given.
A client's certificate that is requested is always verified: Java's tls.server.authClient=false,
which accepts any certificate, has no effect, and requesting certificates without a trustCertPath is
an error.
"""

from __future__ import annotations

import datetime
import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeVar, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.security.certificate_expiry import expires_at

SELF_SIGNED_DAYS: Final = 365

# Names of a certificate that are compared; a certificate may list hundreds of services.
CERTIFICATE_NAMES_MAX: Final = 64

_NAME_KINDS: Final = {"DNS": "DNS", "URI": "URI", "email": "EMAIL"}

# Keys of clients and of Java alone are accepted too: one file often serves all programs.
_KEYS: Final = {
    "tls.enable",
    "tls.test.mode.enable",
    "tls.server.mode",
    "tls.server.need.client.auth",
    "tls.server.authClient",
    "tls.client.authServer",
    *(
        f"tls.{side}.{key}"
        for side in ("server", "client")
        for key in ("certPath", "keyPath", "keyPassword", "trustCertPath")
    ),
}

E = TypeVar("E", bound=Enum)

Stamp = tuple[int, int, int] | None  # inode, mtime and size of a file; changes with its content


class TlsMode(Enum):
    """How a server treats plain and TLS connections."""

    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"
    DISABLED = "disabled"


class ClientAuth(Enum):
    """Whether clients must present a certificate."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate chain and its key, in PEM files."""

    cert_path: str = ""
    key_path: str = ""
    key_password: str = ""


@dataclass(frozen=True, slots=True)
class ServerTls:
    """TLS settings of a server."""

    mode: TlsMode = TlsMode.PERMISSIVE
    test_mode: bool = True
    identity: Identity = Identity()
    client_auth: ClientAuth = ClientAuth.NONE
    trust_cert_path: str = ""

    @staticmethod
    def from_properties(properties: Mapping[str, str]) -> ServerTls:
        _refuse_unknown(properties)
        identity = _identity(properties, "tls.server.")
        needs = _choice(properties, "tls.server.need.client.auth", ClientAuth, ClientAuth.NONE)
        trust = properties.get("tls.server.trustCertPath", "").strip()
        test_mode = _flag(properties, "tls.test.mode.enable", default=not identity.cert_path)
        if needs is not ClientAuth.NONE and (test_mode or not trust):
            raise ConfigurationError(
                f"tls.server.need.client.auth={needs.value} needs tls.server.certPath, keyPath and "
                "trustCertPath: without them any self-made certificate would be accepted"
            )
        mode = _choice(properties, "tls.server.mode", TlsMode, TlsMode.PERMISSIVE)
        return ServerTls(mode, test_mode, identity, needs, trust)


@dataclass(frozen=True, slots=True)
class ClientTls:
    """TLS settings of a client. `is_wanted` says whether it uses TLS at all."""

    test_mode: bool = True
    identity: Identity = Identity()
    auth_server: bool = False
    trust_cert_path: str = ""

    @classmethod
    def trusting(cls, path: str | Path, identity: Identity = Identity()) -> ClientTls:
        """Settings that require servers' certificates to be signed by one in the file at `path`.

        Servers that request a certificate get `identity`.
        """
        return cls(False, identity, auth_server=True, trust_cert_path=str(path))

    @staticmethod
    def from_properties(properties: Mapping[str, str]) -> ClientTls:
        identity = _identity(properties, "tls.client.")
        trust = properties.get("tls.client.trustCertPath", "").strip()
        given = bool(identity.cert_path or trust)
        return ClientTls(
            test_mode=_flag(properties, "tls.test.mode.enable", default=not given),
            identity=identity,
            auth_server=_flag(properties, "tls.client.authServer", default=bool(trust)),
            trust_cert_path=trust,
        )

    @staticmethod
    def is_wanted(properties: Mapping[str, str]) -> bool:
        """Whether outgoing connections use TLS.

        tls.enable decides. Without it, a server that enforces TLS also uses it as a client, as in
        Java.
        """
        mode = _choice(properties, "tls.server.mode", TlsMode, TlsMode.PERMISSIVE)
        return _flag(properties, "tls.enable", default=mode is TlsMode.ENFORCING)

    @property
    def checks_server(self) -> bool:
        return self.auth_server and not self.test_mode

    @property
    def shown(self) -> str:
        """The path of the certificate that servers receive; empty for none."""
        return "" if self.test_mode else self.identity.cert_path


@final
class ServerContexts:
    """Holds the current TLS context of a server.

    The context is made by `reload`. A self-signed one is made when it is first needed, because that
    takes a large library, which most servers never load.
    """

    __slots__ = ("_complain", "_context", "_stamps", "expires_at", "settings")

    def __init__(
        self, settings: ServerTls, complain: Callable[[str], None] = lambda text: None
    ) -> None:
        """`complain` receives the reason if changed files cannot be used."""
        self.settings = settings
        self.expires_at: float | None = None
        """When the certificate in use expires, in seconds of the Unix epoch; None for a self-signed
        one."""
        self._complain = complain
        self._stamps: tuple[Stamp, ...] = ()
        self._context: ssl.SSLContext | None = None
        if settings.mode is not TlsMode.DISABLED and not settings.test_mode:
            self.reload()

    def context(self) -> ssl.SSLContext:
        """The current context.

        Files that changed are read again first, once a change. If they cannot be used, for example
        because the certificate is new and the key still old, the context stays as it is.
        """
        if self._context is None:
            self.reload()
        elif not self.settings.test_mode and self._stamps != (stamps := self._look()):
            self._stamps = stamps
            try:
                self.reload()
            except ConfigurationError as error:
                self._complain(f"the certificate in use stays: {error}")
        assert self._context is not None
        return self._context

    def reload(self) -> None:
        """Read the files again, for new connections. If a file is bad, the context does not
        change."""
        self._stamps = self._look()
        self._context = _server_context(self.settings)
        if not self.settings.test_mode:
            chain = Path(self.settings.identity.cert_path).read_text(errors="replace")
            self.expires_at = expires_at(chain)

    def _look(self) -> tuple[Stamp, ...]:
        identity = self.settings.identity
        paths = (identity.cert_path, identity.key_path, self.settings.trust_cert_path)
        return tuple(stamp_of(path) for path in paths if path)


def stamp_of(path: str) -> Stamp:
    """The stamp of a file; None if it does not exist."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _server_context(settings: ServerTls) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    if settings.test_mode:
        _load_self_signed(context)
        return context
    _load_identity(context, settings.identity, "tls.server.")
    if settings.client_auth is not ClientAuth.NONE:
        _load_trust(context, settings.trust_cert_path, "tls.server.trustCertPath")
        is_required = settings.client_auth is ClientAuth.REQUIRE
        context.verify_mode = ssl.CERT_REQUIRED if is_required else ssl.CERT_OPTIONAL
    return context


def client_context(settings: ClientTls) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if settings.test_mode:
        return context
    if settings.identity.cert_path:
        _load_identity(context, settings.identity, "tls.client.")
    if settings.checks_server:
        context.verify_mode = ssl.CERT_REQUIRED
        if settings.trust_cert_path:
            _load_trust(context, settings.trust_cert_path, "tls.client.trustCertPath")
        else:
            context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context


def _load_identity(context: ssl.SSLContext, identity: Identity, prefix: str) -> None:
    for key, path in (("certPath", identity.cert_path), ("keyPath", identity.key_path)):
        _must_be_readable(prefix + key, path)
    try:
        # The password is passed as a function: with None, OpenSSL would prompt on the terminal.
        context.load_cert_chain(
            identity.cert_path, identity.key_path, lambda: identity.key_password
        )
    except (ssl.SSLError, ValueError) as error:
        raise ConfigurationError(
            f"{prefix}certPath={identity.cert_path} and {prefix}keyPath={identity.key_path} "
            f"are not a certificate and its key in PEM, or {prefix}keyPassword is wrong: {error}"
        ) from error


def _load_trust(context: ssl.SSLContext, path: str, key: str) -> None:
    _must_be_readable(key, path)
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise ConfigurationError(f"{key}={path} holds no certificates in PEM: {error}") from error


def _must_be_readable(key: str, path: str) -> None:
    if not path:
        instead = (
            "leave out tls.client.certPath"
            if key.startswith("tls.client.")
            else "set tls.server.mode=disabled where no TLS is taken"
        )
        raise ConfigurationError(
            f"{key} is not set, and tls.test.mode.enable is false; set it, or {instead}"
        )
    try:
        Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{key}={path} cannot be read: {error.strerror}") from error


def _load_self_signed(context: ssl.SSLContext) -> None:
    certificate, key = self_signed("gantry-test-mode")
    with _in_memory(certificate + key) as path:
        context.load_cert_chain(path)


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """Yield a path to the data that only this process can read, for APIs that accept only paths."""
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, data)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def self_signed(name: str) -> tuple[bytes, bytes]:
    """Make a self-signed certificate and its key, both PEM."""
    from cryptography import x509  # noqa: PLC0415  # 8 MiB and 0.1 s that plain servers never need
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=SELF_SIGNED_DAYS))
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _refuse_unknown(properties: Mapping[str, str]) -> None:
    """Reject unknown keys: a misspelt key would leave a protection off that the operator set."""
    unknown = sorted(properties.keys() - _KEYS)
    if unknown:
        raise ConfigurationError(
            f"{', '.join(unknown)}: no TLS setting of this server; there are "
            + ", ".join(sorted(_KEYS))
        )


def _identity(properties: Mapping[str, str], prefix: str) -> Identity:
    return Identity(
        properties.get(prefix + "certPath", "").strip(),
        properties.get(prefix + "keyPath", "").strip(),
        properties.get(prefix + "keyPassword", ""),
    )


def _flag(properties: Mapping[str, str], key: str, *, default: bool) -> bool:
    text = properties.get(key, "").strip().lower()
    if text not in {"", "true", "false"}:
        raise ConfigurationError(f"{key}={text} is neither true nor false")
    return text == "true" if text else default


def _choice(properties: Mapping[str, str], key: str, kind: type[E], default: E) -> E:
    text = properties.get(key, "").strip().lower()
    if not text:
        return default
    try:
        return kind(text)
    except ValueError:
        words = ", ".join(str(member.value) for member in kind)
        raise ConfigurationError(f"{key}={text} is none of {words}") from None


# Any: the standard library returns certificates in this untyped form.
def certificate_names(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """`CN:name` of the subject, then `DNS:`, `URI:` and `EMAIL:` of the alternative names."""
    subject = [
        f"CN:{value}"
        for attributes in certificate.get("subject", ())
        for key, value in attributes
        if key == "commonName"
    ]
    others = [
        f"{_NAME_KINDS[kind]}:{value}"
        for kind, value in certificate.get("subjectAltName", ())
        if kind in _NAME_KINDS
    ]
    return (*subject, *others)[:CERTIFICATE_NAMES_MAX]
