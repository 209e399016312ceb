"""Creates a certificate authority for tests, with PEM files that Java and OpenSSL both read."""

import datetime
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

VALID = datetime.timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate and its key (PKCS 8, the only kind that Netty reads)."""

    cert_path: Path
    key_path: Path

    def settings(self, side: str) -> dict[str, str]:
        """RocketMQ's settings that make the `server` or the `client` present the certificate."""
        return {
            f"tls.{side}.certPath": str(self.cert_path),
            f"tls.{side}.keyPath": str(self.key_path),
        }


class Authority:
    """Signs certificates. Two authorities with the same name do not trust each other's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        certificate = self._signed(self._name, self._key.public_key(), VALID, is_authority=True)
        self.trust_path = folder / "authority.pem"
        self.trust_path.write_bytes(_pem(certificate))

    def identity(self, name: str, valid: datetime.timedelta = VALID) -> Identity:
        """Create a key and its certificate; replaces those of the same name."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        found = Identity(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        found.cert_path.write_bytes(
            _pem(self._signed(subject, key.public_key(), valid, is_authority=False))
        )
        found.key_path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return found

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        valid: datetime.timedelta,
        *,
        is_authority: bool,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + valid)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )


def client_context(
    trusted: Authority | None = None, identity: Identity | None = None
) -> ssl.SSLContext:
    """The context for a test's own connection: the authority it trusts (None: any), and its
    certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if trusted is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(trusted.trust_path)
    if identity is not None:
        context.load_cert_chain(identity.cert_path, identity.key_path)
    return context


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
