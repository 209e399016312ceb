"""Creates the cluster's public key infrastructure, and the kubeconfigs with its certificates.

One authority signs everything. Keys are elliptic, which are fast to create; only the
administrator's is RSA, because Spark's Kubernetes client cannot read an elliptic client key.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from cluster.settings import (
    API_SERVICE_ADDRESS,
    API_URL,
    HOST_ADDRESS,
    NODES,
    Layout,
    node_address,
    node_name,
)

VALIDITY = datetime.timedelta(days=365)  # a cluster lives for hours
SKEW = datetime.timedelta(hours=1)  # a clock that is set back must not invalidate every certificate
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
API_NAMES = (
    *("kubernetes", "kubernetes.default", "kubernetes.default.svc"),
    *("kubernetes.default.svc.cluster.local", "localhost"),
)


@dataclass(frozen=True)
class Subject:
    """The subject of a certificate; Kubernetes reads user and group from its name."""

    file: str
    user: str
    group: str = ""
    names: tuple[str, ...] = ()  # DNS names and addresses of a server
    is_server: bool = False
    has_kubeconfig: bool = False


def subjects() -> list[Subject]:
    masters = "system:masters"
    api_names = (*API_NAMES, "127.0.0.1", HOST_ADDRESS, API_SERVICE_ADDRESS)
    found = [
        Subject("apiserver", "kube-apiserver", names=api_names, is_server=True),
        Subject("apiserver-kubelet", "kube-apiserver-kubelet-client", masters),
        Subject("front-proxy", "front-proxy-client"),
        Subject("admin", "gantry-admin", masters, has_kubeconfig=True),
    ]
    found += [
        Subject(component, f"system:{component}", has_kubeconfig=True)
        for component in ("kube-controller-manager", "kube-scheduler", "kube-proxy")
    ]
    for node in NODES:
        name, group = node_name(node), "system:nodes"
        user, names = f"system:node:{name}", (name, node_address(node))
        found.append(Subject(name, user, group, has_kubeconfig=True))
        found.append(Subject(f"{name}-serving", user, group, names=names, is_server=True))
    return found


def ensure(layout: Layout) -> None:
    """Create the authority, all certificates and all kubeconfigs, unless they exist."""
    finished = layout.pki / "finished"
    if finished.exists():
        return
    layout.pki.mkdir(parents=True, exist_ok=True)
    authority = _Authority(layout.pki)
    for subject in subjects():
        key = _rsa_key() if subject.file == "admin" else ec.generate_private_key(ec.SECP256R1())
        certificate = authority.sign(subject, key)
        _write_pair(layout.pki, subject.file, certificate, key)
        if subject.has_kubeconfig:
            path = layout.component_kubeconfig(subject.file)
            _write_private(path, kubeconfig(authority.pem, _pem(certificate), _key_pem(key)))
    layout.kubeconfig.write_bytes(layout.component_kubeconfig("admin").read_bytes())
    layout.kubeconfig.chmod(0o600)
    tokens = _rsa_key()  # signs the tokens of service accounts
    _write_private(layout.pki / "service-accounts.key", _key_pem(tokens))
    (layout.pki / "service-accounts.pub").write_bytes(
        tokens.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    finished.touch()


def kubeconfig(authority: bytes, certificate: bytes, key: bytes) -> bytes:
    """A kubeconfig for the one cluster, with embedded certificates. JSON is YAML, too."""

    def encoded(content: bytes) -> str:
        return base64.b64encode(content).decode()

    name = "gantry"
    cluster = {"server": API_URL, "certificate-authority-data": encoded(authority)}
    user = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(config, indent=1).encode() + b"\n"


class _Authority:
    """The certificate authority: created once per cluster, stored in its folder."""

    def __init__(self, folder: Path) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("gantry-cluster-ca", "")
        usage = _key_usage(signs_certificates=True)
        certificate = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = _pem(certificate)
        _write_pair(folder, "ca", certificate, self._key)

    def sign(self, subject: Subject, key: PrivateKey) -> x509.Certificate:
        purpose = (
            ExtendedKeyUsageOID.SERVER_AUTH
            if subject.is_server
            else ExtendedKeyUsageOID.CLIENT_AUTH
        )
        builder = (
            _builder(_name(subject.user, subject.group), self._name, key.public_key())
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        )
        if subject.names:
            names = x509.SubjectAlternativeName(list(_general_names(subject.names)))
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + VALIDITY)
    )


def _name(user: str, group: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
    if group:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(attributes)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        key_encipherment=not signs_certificates,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_names(names: Iterable[str]) -> Iterable[x509.GeneralName]:
    for name in names:
        try:
            yield x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            yield x509.DNSName(name)


def _rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write_pair(folder: Path, name: str, certificate: x509.Certificate, key: PrivateKey) -> None:
    (folder / f"{name}.crt").write_bytes(_pem(certificate))
    _write_private(folder / f"{name}.key", _key_pem(key))


def _write_private(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
