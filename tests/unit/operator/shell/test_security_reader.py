"""Tests the access to secure clusters, and the values of new Secrets."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Mapping

import pytest
from cryptography import x509

from gantrymq.acl.plain import plain_acl
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.operator.kube.api_config import ApiConfig
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.names import ClusterNames
from gantrymq.operator.resources.security import SecurityProfile, SecuritySpec
from gantrymq.operator.shell.security_reader import SecurityReader, security_of

NAMES = ClusterNames("orders", "one")
SECURE = SecuritySpec(SecurityProfile.SECURE)
NAMED = SecuritySpec(SecurityProfile.SECURE, "users", "certificate")
TOOLS = "accessKey: administrator\nsecretKey: a-secret-of-some-length\n"


@pytest.fixture
async def reader(server: KubeServer) -> AsyncIterator[SecurityReader]:
    client = KubeClient(ApiConfig(server.url))
    yield SecurityReader(client)
    await client.close()


def put(server: KubeServer, name: str, content: Mapping[str, str]) -> None:
    data = {key: base64.b64encode(text.encode()).decode() for key, text in content.items()}
    server.put("Secret", {"metadata": {"namespace": "one", "name": name}, "data": data})


def there(*names: str) -> dict[str, tuple[Json, ...]]:
    return {"Secret": tuple({"metadata": {"name": name}} for name in names)}


async def test_the_account_and_the_authority_are_those_of_the_named_secrets(
    server: KubeServer, reader: SecurityReader
) -> None:
    put(server, "users", {"tools.yml": TOOLS})
    put(server, "certificate", {"ca.crt": "authority"})
    access = await reader.access(NAMES, NAMED)
    assert access is not None
    assert access.credentials.access_key == "administrator"
    assert access.authority == "authority"
    assert "a-secret" not in repr(access)


@pytest.mark.parametrize("tools", ["", "accessKey: [", "accessKey: administrator\n"])
async def test_unusable_secrets_give_no_access(
    server: KubeServer, reader: SecurityReader, tools: str
) -> None:
    assert await reader.access(NAMES, NAMED) is None
    put(server, "users", {"tools.yml": tools})
    put(server, "certificate", {"ca.crt": "authority"})
    assert await reader.access(NAMES, NAMED) is None


async def test_a_new_certificate_is_signed_by_its_authority_and_has_the_names_of_services(
    reader: SecurityReader,
) -> None:
    new = await reader.new(NAMES, SECURE, there())
    assert new is not None
    authority = x509.load_pem_x509_certificate(new.authority.encode())
    certificate = x509.load_pem_x509_certificate(new.certificate.encode())
    certificate.verify_directly_issued_by(authority)
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "orders-nameserver.one.svc" in found.get_values_for_type(x509.DNSName)
    assert new.administrator not in repr(new)
    assert new.key not in repr(new)


async def test_two_clusters_get_different_values(reader: SecurityReader) -> None:
    one, two = [await reader.new(NAMES, SECURE, there()) for _ in range(2)]
    assert one is not None
    assert two is not None
    for field in ("administrator", "application", "metrics_token", "key"):
        assert getattr(one, field) != getattr(two, field)


async def test_the_key_of_applications_follows_from_accounts_that_are_there(
    server: KubeServer, reader: SecurityReader
) -> None:
    first = await reader.new(NAMES, SECURE, there())
    assert first is not None
    keys = f"accessKey: gantry-administrator\nsecretKey: {first.administrator}\n"
    assert plain_acl.read_credentials(keys.encode()).secret_key == first.administrator
    put(server, "orders-accounts", {"tools.yml": keys})
    again = await reader.new(NAMES, SECURE, there("orders-accounts", "orders-tls"))
    assert again is not None
    assert again.application == first.application


async def test_no_random_values_are_made_if_no_secret_is_missing(reader: SecurityReader) -> None:
    own = there("orders-accounts", "orders-client", "orders-tls")
    assert await reader.new(NAMES, SECURE, own) is None
    assert await reader.new(NAMES, NAMED, there()) is None
    assert await reader.new(NAMES, None, there()) is None
    assert await reader.new(NAMES, SECURE, None) is None


def test_the_security_is_that_of_the_profile_at_creation() -> None:
    resource = {"metadata": {"name": "orders", "namespace": "one"}, "spec": {}}
    assert security_of(resource, (), SecurityProfile.OPEN) is None
    assert security_of(resource, (), SecurityProfile.SECURE) == SECURE
    assert security_of(resource, None, SecurityProfile.SECURE) is None
    resource["status"] = {"securityProfile": "open"}
    assert security_of(resource, (), SecurityProfile.SECURE) is None
