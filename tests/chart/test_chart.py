"""Tests the Helm chart: lint, values schema and rendered templates. Needs helm, no cluster."""

from __future__ import annotations

import json
import re

import pytest

from gantrymq.broker.member.lease_client import OWNER, PROBLEMS
from gantrymq.e2e.chart import CHART, KUBERNETES, Json, only, rendered, run
from gantrymq.ha.lease.lease import Lease
from gantrymq.ha.lease.lease_annotations import PREFIX
from gantrymq.ha.lease.lease_object import ObjectName, encode
from gantrymq.operator.shell import options


def test_lint_finds_nothing() -> None:
    done = run("lint", "--strict", str(CHART), "--kube-version", KUBERNETES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_definitions_are_installed_with_the_chart_and_kept_by_an_uninstall() -> None:
    definitions = [x for x in rendered() if x["kind"] == "CustomResourceDefinition"]
    assert {each["spec"]["names"]["kind"] for each in definitions} == {"BrokerCluster", "Topic"}
    for each in definitions:
        assert each["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    without = rendered("crds.install=false")
    assert not [x for x in without if x["kind"] == "CustomResourceDefinition"]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("replicas=9", "/replicas"),
        ("replicas=two", "/replicas"),
        ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
        ("image.registry=UPPER", "/image/registry"),
        ("watchNamespaces={Not_A_Name}", "/watchNamespaces/0"),
        ("logLevel=LOUD", "/logLevel"),
        ("security.profile=safe", "/security/profile"),
        ("resouces.limits.memory=1Gi", "resouces"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(setting: str, words: str) -> None:
    done = run("template", "gantry", str(CHART), "--kube-version", KUBERNETES, "--set", setting)
    assert done.returncode != 0
    assert words in done.stderr


def test_pods_pass_the_restricted_security_level() -> None:
    objects = rendered()
    pods = [only(objects, "Deployment")["spec"]["template"]["spec"]]
    pods.append(only(objects, "Job")["spec"]["template"]["spec"])
    pods.append(only(objects, "Pod")["spec"])
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["enableServiceLinks"] is False
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}


def test_no_rule_has_a_wildcard_or_allows_commands_in_pods() -> None:
    for each in rendered():
        for rule in each.get("rules", []):
            granted = [*rule.get("apiGroups", []), *rule["resources"], *rule["verbs"]]
            assert "*" not in granted
            assert "pods/exec" not in granted


def test_secrets_are_only_read_by_name() -> None:
    rules = only(rendered(), "ClusterRole", "gantry-operator")["rules"]
    verbs = {v for rule in rules if "secrets" in rule["resources"] for v in rule["verbs"]}
    assert not verbs & {"list", "watch", "delete"}


def test_with_namespaces_the_operator_has_no_rights_elsewhere() -> None:
    objects = rendered("watchNamespaces={shop,bank}")
    everywhere = only(objects, "ClusterRole", "gantry-operator")["rules"]
    assert not [rule for rule in everywhere if "gantrymq.dev" in rule["apiGroups"]]
    roles = [
        x for x in objects if x["kind"] == "Role" and x["metadata"]["name"] == "gantry-operator"
    ]
    assert {role["metadata"]["namespace"] for role in roles} == {"shop", "bank"}
    environment_of = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["env"]
    values = {each["name"]: each.get("value") for each in environment_of}
    assert values["GANTRY_OPERATOR_NAMESPACE"] == "shop,bank"


@pytest.mark.parametrize(
    ("settings", "profile"), [((), "secure"), (("security.profile=open",), "open")]
)
def test_new_clusters_are_secure_unless_the_values_say_otherwise(
    settings: tuple[str, ...], profile: str
) -> None:
    pod = only(rendered(*settings), "Deployment")["spec"]["template"]["spec"]
    values = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert values["GANTRY_OPERATOR_SECURITY_PROFILE"] == profile
    assert options.parse([], values).security_profile == profile


@pytest.mark.parametrize(
    ("release", "namespace"), [("two", "gantry-system"), ("gantry", "elsewhere")]
)
def test_two_releases_share_neither_lease_nor_rights(release: str, namespace: str) -> None:
    def names(objects: list[Json]) -> set[tuple[str, str]]:
        policies = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
        kinds = ("ClusterRole", "ClusterRoleBinding", "FlowSchema", *policies)
        return {(x["kind"], x["metadata"]["name"]) for x in objects if x["kind"] in kinds}

    first, second = rendered(), rendered(release=release, namespace=namespace)

    assert len(names(first)) == len(names(second)) >= 7
    assert not names(first) & names(second)
    pod = only(second, "Deployment")["spec"]["template"]["spec"]
    values = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    lease = (namespace, values["GANTRY_OPERATOR_LEASE_NAME"])
    assert lease[1].endswith("gantry-operator")
    assert lease != ("gantry-system", "gantry-operator")


REQUESTS = {
    f"{PREFIX}{each}"
    for each in ("fenced", "preferred", "switch-to", "switch-number", "allow-unclean")
}


def annotations_of_members() -> set[str]:
    """All annotations that a member writes into a Lease, without the users' requests."""
    lease = Lease(epoch=1, in_sync=frozenset({1}), group="0" * 32)
    content = json.loads(encode(lease, None, ObjectName("mq", "orders-broker-0"), 0))
    return {*content["metadata"]["annotations"], OWNER, PROBLEMS} - REQUESTS


def test_leases_are_protected_unless_that_is_turned_off() -> None:
    policy = only(rendered(), "ValidatingAdmissionPolicy")
    binding = only(rendered(), "ValidatingAdmissionPolicyBinding")
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert binding["spec"]["paramRef"] == {"selector": {}, "parameterNotFoundAction": "Allow"}
    assert binding["spec"]["validationActions"] == ["Deny"]
    assert policy["spec"]["failurePolicy"] == "Ignore", "a master must never lose its Lease by it"
    without = rendered("leases.protect=false")
    assert not [each for each in without if each["kind"].startswith("ValidatingAdmission")]


def test_an_api_server_without_admission_policies_gets_none() -> None:
    done = run("template", "gantry", str(CHART), "--kube-version", "1.29.0")
    assert done.returncode == 0, done.stderr
    assert "ValidatingAdmissionPolicy" not in done.stdout


def test_the_policy_guards_annotations_of_members_but_not_requests() -> None:
    policy = only(rendered(), "ValidatingAdmissionPolicy")
    expressions = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}
    found = set(re.findall(r"'([a-z0-9-]+)'", expressions["ofMembers"].partition("].map")[0]))
    assert {f"gantrymq.dev/{each}" for each in found} == annotations_of_members()


def test_the_policy_recognises_the_operator_by_its_account() -> None:
    objects = rendered("serviceAccount.name=other", namespace="elsewhere")
    policy = only(objects, "ValidatingAdmissionPolicy")
    expressions = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}
    account = only(objects, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"]
    wanted = f"'system:serviceaccount:elsewhere:{account}'"
    assert expressions["isOperator"].endswith(wanted)


def test_the_policy_only_covers_served_namespaces() -> None:
    policy = only(rendered("watchNamespaces={shop,bank}"), "ValidatingAdmissionPolicy")
    [served, system] = policy["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
    assert served["values"] == ["shop", "bank"]
    assert "kube-node-lease" in system["values"], "nodes renew their Leases there"


def test_one_tag_names_all_images() -> None:
    text = json.dumps(rendered("image.registry=r.example/g", "image.tag=v7"))
    for component in ("operator", "broker", "namesrv"):
        assert f"r.example/g/{component}:v7" in text
