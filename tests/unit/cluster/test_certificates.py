"""Tests the certificates of the cluster's components."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from cluster.local import certificates
from cluster.settings import Layout


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    folder = tmp_path_factory.mktemp("cluster")
    found = Layout(state=folder / "state", cache=folder / "cache")
    certificates.ensure(found)
    return found


def read(layout: Layout, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((layout.pki / f"{name}.crt").read_bytes())


def test_every_certificate_is_signed_by_the_authority(layout: Layout) -> None:
    authority = read(layout, "ca")
    for subject in certificates.subjects():
        read(layout, subject.file).verify_directly_issued_by(authority)


def test_a_node_is_named_as_the_node_authorizer_expects(layout: Layout) -> None:
    subject = read(layout, "node2").subject
    values = {attribute.oid: attribute.value for attribute in subject}
    assert values == {
        NameOID.ORGANIZATION_NAME: "system:nodes",
        NameOID.COMMON_NAME: "system:node:node2",
    }


def test_the_api_server_is_valid_for_each_of_its_addresses(layout: Layout) -> None:
    extensions = read(layout, "apiserver").extensions
    names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    assert addresses == {"127.0.0.1", "172.30.0.1", "10.96.0.1"}
    assert "kubernetes.default.svc" in names.get_values_for_type(x509.DNSName)


def test_servers_and_clients_have_different_purposes(layout: Layout) -> None:
    for name, purpose in (
        ("node1-serving", ExtendedKeyUsageOID.SERVER_AUTH),
        ("node1", ExtendedKeyUsageOID.CLIENT_AUTH),
    ):
        usage = read(layout, name).extensions.get_extension_for_class(x509.ExtendedKeyUsage)
        assert list(usage.value) == [purpose]


def test_the_administrator_has_a_key_that_java_can_read(layout: Layout) -> None:
    assert isinstance(read(layout, "admin").public_key(), rsa.RSAPublicKey)


def test_the_kubeconfig_embeds_the_certificates_and_is_private(layout: Layout) -> None:
    config = json.loads(layout.kubeconfig.read_text())
    embedded = config["users"][0]["user"]["client-certificate-data"]
    assert base64.b64decode(embedded) == (layout.pki / "admin.crt").read_bytes()
    assert config["clusters"][0]["cluster"]["server"] == "https://172.30.0.1:6443"
    assert layout.kubeconfig.stat().st_mode & 0o077 == 0
    assert [path for path in layout.pki.glob("*.key") if path.stat().st_mode & 0o077] == []


def test_certificates_are_made_once(layout: Layout) -> None:
    before = layout.kubeconfig.read_bytes()
    certificates.ensure(layout)
    assert layout.kubeconfig.read_bytes() == before
