"""Tests that the real programs start with the files and pods of the secure profile."""

from __future__ import annotations

import base64
import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gantrymq.acl.plain import plain_acl
from gantrymq.app.secure import folder
from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.core.settings import HaTls
from gantrymq.namesrv.configuration import load as load_name_server
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.pods.broker_config import broker_config, name_server_config
from gantrymq.operator.plan.objects.pods.broker_pods import broker_template
from gantrymq.operator.plan.objects.pods.name_server_pods import name_server_template
from gantrymq.operator.plan.objects.pods.replication_tls import LinkTls
from gantrymq.operator.plan.security_profile import with_profile
from gantrymq.operator.resources.security import SecurityProfile
from gantrymq.operator_model.samples import cluster
from gantrymq.operator_model.world import World
from gantrymq.runtime.security.certificates import TlsMode

SECURE: Json = {"profile": "secure"}
NAMED: Json = {"profile": "secure", "accountsSecret": "users", "tlsSecret": "certificate"}


def mounted(tmp_path: Path, text: str) -> Path:
    """A configuration file whose folders are those of `tmp_path`, with the files of a pod."""
    made = tmp_path / "made"
    folder.make(made, ["localhost"], datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    accounts, tls, secret = (tmp_path / each for each in ("accounts", "tls", "secret"))
    for source, target in (
        ("plain_acl.yml", accounts / "plain_acl.yml"),
        ("conf/tools.yml", accounts / "conf/tools.yml"),
        ("metrics.token", accounts / "metrics.token"), ("server.pem", tls / "tls.crt"),
        ("server-key.pem", tls / "tls.key"), ("ca.pem", tls / "ca.crt"),
        ("group.secret", secret / "secret"),
    ):  # fmt: skip
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((made / source).read_bytes())
    file = tmp_path / "server.conf"
    for name, path in (("accounts", accounts), ("tls", tls), ("secret", secret)):
        text = text.replace(f"/etc/gantry-{name}", str(path))
    file.write_text(text)
    return file


def broker(tmp_path: Path) -> Setup:
    text = broker_config(cluster(security=SECURE), "broker-0", 2, "10.96.0.7", LinkTls.REQUIRED)
    pod = {"GANTRY_BROKER_IP1": "10.0.0.5", "GANTRY_BROKER_IP2": "10.0.0.5"}
    environment = pod | {"GANTRY_MEMBER_NUMBER": "2"}
    return load(mounted(tmp_path, text), environment, {}, tmp_path / "data")


def test_a_broker_starts_with_the_file_and_protects_itself(tmp_path: Path) -> None:
    setup = broker(tmp_path)
    assert setup.unknown == {}
    assert setup.settings.secure_defaults
    assert setup.settings.acl_enable
    assert setup.settings.ha_tls is HaTls.REQUIRED
    assert setup.tls.mode is TlsMode.ENFORCING
    assert setup.client_tls is not None
    assert setup.client_tls.checks_server
    assert setup.credentials is not None
    assert setup.settings.metrics_bind_address == "0.0.0.0"
    assert setup.settings.metrics_token_file


def test_a_name_server_starts_with_the_file_and_protects_itself(tmp_path: Path) -> None:
    text = name_server_config(cluster(security=SECURE), "10.96.0.8")
    setup = load_name_server(mounted(tmp_path, text), {}, {}, tmp_path)
    assert setup.settings.secure_defaults
    assert setup.settings.acl_enable
    assert setup.tls.mode is TlsMode.ENFORCING


def test_settings_of_the_user_do_not_weaken_the_profile() -> None:
    known = cluster(config={"aclFile": "/x", "metricsTokenFile": ""})
    secure = replace(known, spec=with_profile(known.spec, SecurityProfile.SECURE))
    text = broker_config(secure, "broker-0", 1, "10.0.0.1", LinkTls.REQUIRED)
    assert "aclFile=/etc/gantry-accounts/plain_acl.yml" in text
    assert "metricsTokenFile=/etc/gantry-accounts/metrics.token" in text


@pytest.mark.parametrize("of", ["broker", "nameserver"])
def test_pods_mount_the_named_secrets_as_files_that_only_their_user_reads(of: str) -> None:
    known = cluster(security=NAMED)
    template = (
        broker_template(known, "broker-0", "image", "key")
        if of == "broker"
        else name_server_template(known, "image", "key")
    )
    volumes = {each["name"]: each for each in template["spec"]["volumes"]}
    assert volumes["accounts"]["secret"]["secretName"] == "users"
    assert volumes["tls"]["secret"]["secretName"] == "certificate"
    assert {volumes[each]["secret"]["defaultMode"] for each in ("accounts", "tls")} == {0o440}
    [container] = template["spec"]["containers"]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert mounts["accounts"] == "/etc/gantry-accounts"
    assert mounts["tls"] == "/etc/gantry-tls"


def test_an_open_cluster_has_neither_settings_nor_volumes_of_the_profile() -> None:
    known = cluster(security={"profile": "open"})
    template = broker_template(known, "broker-0", "image", "key")
    assert {each["name"] for each in template["spec"]["volumes"]} == {"config", "secret", "tmp"}
    assert "secure" not in broker_config(known, "broker-0", 1, "10.0.0.1", LinkTls.ACCEPTED)


# ------------------------------------------------------------------ Secrets


def world(**security: Any) -> World:
    return World({"security": {"profile": "secure", **security}}, nodes=3)


def data_of(made: World, name: str, kind: str = "Secret") -> dict[str, str]:
    found = made.api.get(kind, name)
    assert found is not None, name
    if kind == "ConfigMap":
        return dict(found["data"])
    return {key: base64.b64decode(text).decode() for key, text in found["data"].items()}


def test_a_secure_cluster_gets_accounts_certificate_and_authority() -> None:
    made = world()
    planned = made.settle()
    rules = plain_acl.read(data_of(made, "orders-accounts")["plain_acl.yml"].encode())
    client = data_of(made, "orders-client")
    assert rules.accounts["gantry-administrator"].admin
    assert rules.accounts[client["accessKey"]].secret_key == client["secretKey"]
    assert not rules.accounts[client["accessKey"]].admin
    assert set(data_of(made, "orders-tls")) == {"tls.crt", "tls.key", "ca.crt"}
    authority = data_of(made, "orders-tls")["ca.crt"]
    assert data_of(made, "orders-ca", "ConfigMap")["ca.crt"] == authority
    assert planned.status["securityProfile"] == "secure"
    assert made.plan().actions == ()


def test_an_open_cluster_gets_none_of_them() -> None:
    made = World({}, nodes=3)
    made.settle()
    assert [each["metadata"]["name"] for each in made.api.of_kind("Secret")] == [
        "orders-replication"
    ]


def test_secrets_that_were_changed_by_hand_stay_as_they_are() -> None:
    made = world()
    made.settle()
    found = made.api.get("Secret", "orders-accounts")
    assert found is not None
    found["data"]["plain_acl.yml"] = base64.b64encode(b"accounts: []").decode()
    made.api.touch(found)
    made.settle()
    assert data_of(made, "orders-accounts")["plain_acl.yml"] == "accounts: []"


def test_a_secret_that_the_operator_did_not_make_is_left_alone_and_the_wait_says_so() -> None:
    made = world()
    metadata = {"name": "orders-accounts", "namespace": "mq"}
    made.api.create({"kind": "Secret", "metadata": metadata, "data": {"plain_acl.yml": "eA=="}})
    for _ in range(6):
        made.reconcile()
    waits = {each.what: each.why for each in made.plan().waits}
    assert "the operator did not create it" in waits["Secret orders-accounts"]
    found = made.api.get("Secret", "orders-accounts")
    assert found is not None
    assert "ownerReferences" not in found["metadata"]
    assert not made.api.of_kind("StatefulSet")


def test_deleted_accounts_are_created_again_together_with_the_application() -> None:
    made = world()
    made.settle()
    before = data_of(made, "orders-client")["secretKey"]
    made.api.remove("Secret", "orders-accounts")
    made.settle()
    rules = plain_acl.read(data_of(made, "orders-accounts")["plain_acl.yml"].encode())
    after = data_of(made, "orders-client")["secretKey"]
    assert after != before
    assert rules.accounts["application"].secret_key == after


def test_pods_wait_for_a_secret_that_the_resource_names_and_the_wait_says_what_is_missing() -> None:
    made = world(accountsSecret="users", tlsSecret="certificate")
    for _ in range(6):
        made.reconcile()
    planned = made.plan()
    assert not made.api.of_kind("StatefulSet")
    waits = {each.what: each.why for each in planned.waits}
    assert "spec.security.accountsSecret names it" in waits["pods with Secret users"]
    assert "spec.security.tlsSecret names it" in waits["pods with Secret certificate"]
    for name, entries in (
        ("users", ("plain_acl.yml", "tools.yml", "metrics.token")),
        ("certificate", ("tls.crt", "tls.key")),
    ):
        metadata = {"name": name, "namespace": "mq"}
        data = {each: base64.b64encode(b"x").decode() for each in entries}
        made.api.create({"kind": "Secret", "metadata": metadata, "data": data})
    waits = {each.what: each.why for each in made.reconcile().waits}
    assert waits["pods with Secret certificate"] == "it has no entry ca.crt: add what is missing"
    found = made.api.get("Secret", "certificate")
    assert found is not None
    found["data"]["ca.crt"] = base64.b64encode(b"authority").decode()
    made.api.touch(found)
    made.settle()
    assert made.api.of_kind("StatefulSet")
    assert made.api.get("Secret", "orders-client") is None


def test_pods_that_run_are_not_changed_while_a_secret_for_them_is_missing() -> None:
    made = world()
    made.settle()
    before = [each["spec"]["template"] for each in made.api.of_kind("StatefulSet")]
    made.change(security={"profile": "secure", "tlsSecret": "elsewhere"})
    planned = made.settle()
    assert [each["spec"]["template"] for each in made.api.of_kind("StatefulSet")] == before
    assert [each.what for each in planned.waits] == ["pods with Secret elsewhere"]
