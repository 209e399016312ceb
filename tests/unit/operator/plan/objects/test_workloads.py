"""Tests what of a StatefulSet and its ConfigMap is kept, changed and reverted."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.drift import drift
from gantrymq.operator.plan.objects.groups import group_blueprint
from gantrymq.operator.plan.objects.pods.replication_tls import LinkTls
from gantrymq.operator.plan.objects.pods.workloads import (
    CONFIG_ENTRY,
    CONTENT,
    Workload,
    is_outdated,
    surplus_entries,
    workload,
)
from gantrymq.operator.plan.snapshot import OperatorDefaults
from gantrymq.operator_model.samples import DEFAULTS, cluster

NEW = OperatorDefaults("example.org/broker:9", "example.org/namesrv:9", "Always")


def build(
    found: Json | None = None,
    found_config: Json | None = None,
    pods: list[Json] | None = None,
    defaults: OperatorDefaults = DEFAULTS,
    address: str = "10.96.0.7",
    **spec: Any,
) -> Workload:
    wanted = cluster(defaults, **spec)
    blueprint = group_blueprint(wanted, "broker-0", 2, address, LinkTls.ACCEPTED)
    return workload(wanted, blueprint, found, found_config, pods if pods is not None else [])


def image_of(stateful_set: Json) -> str:
    return str(stateful_set["spec"]["template"]["spec"]["containers"][0]["image"])


def pod_of(stateful_set: Json) -> Json:
    return {"metadata": deepcopy(stateful_set["spec"]["template"]["metadata"])}


def test_the_same_inputs_build_the_same_objects() -> None:
    first = build()
    again = build(first.stateful_set, first.config_map)
    assert drift(again.stateful_set, first.stateful_set) is None
    assert again.config_map == first.config_map
    assert again.changed == ""


def test_an_operator_that_builds_another_template_leaves_the_old_one() -> None:
    old = build()
    new = build(old.stateful_set, old.config_map, defaults=NEW)
    assert new.stateful_set["spec"]["template"] == old.stateful_set["spec"]["template"]
    assert new.config_map["data"] == old.config_map["data"]
    assert drift(new.stateful_set, old.stateful_set) is None


def test_a_change_of_the_user_keeps_the_default_image_of_the_first_operator() -> None:
    old = build()
    changed = build(old.stateful_set, old.config_map, defaults=NEW, flush="sync")
    assert image_of(changed.stateful_set) == DEFAULTS.broker_image
    assert changed.changed == "flush"


def test_the_image_of_the_resource_counts_and_can_be_taken_back() -> None:
    old = build()
    image = {"broker": "example.org/broker:3"}
    named = build(old.stateful_set, old.config_map, defaults=NEW, image=image)
    assert image_of(named.stateful_set) == "example.org/broker:3"
    back = build(named.stateful_set, named.config_map, defaults=NEW)
    assert image_of(back.stateful_set) == DEFAULTS.broker_image


def test_an_edit_of_the_template_is_reverted() -> None:
    old = build()
    edited = deepcopy(old.stateful_set)
    edited["spec"]["template"]["spec"]["containers"][0]["image"] = "evil"
    wanted = build(edited, old.config_map)
    assert drift(wanted.stateful_set, edited) == (
        "spec.template.spec.containers[broker].image is 'evil'"
    )


def test_a_new_configuration_stands_beside_the_one_that_pods_read() -> None:
    old = build()
    new = build(
        old.stateful_set,
        old.config_map,
        [pod_of(old.stateful_set)],
        config={"fileReservedTime": "48"},
    )
    assert len(new.config_map["data"]) == 2
    assert old.config_map["data"].items() <= new.config_map["data"].items()


def test_a_configuration_that_no_pod_reads_is_removed() -> None:
    old = build()
    spec: dict[str, Any] = {"config": {"fileReservedTime": "48"}}
    new = build(old.stateful_set, old.config_map, [pod_of(old.stateful_set)], **spec)
    rolled = build(new.stateful_set, new.config_map, [pod_of(new.stateful_set)], **spec)
    [entry] = old.config_map["data"]
    assert surplus_entries(rolled.config_map, new.config_map, "broker") == [entry]


def test_entries_of_others_in_a_config_map_are_left_alone() -> None:
    wanted = build()
    found = deepcopy(wanted.config_map)
    found["data"]["notes.txt"] = "by hand"
    assert surplus_entries(wanted.config_map, found, "broker") == []


def test_a_lost_configuration_is_made_again_by_a_new_operator() -> None:
    old = build()
    new = build(old.stateful_set, None, defaults=NEW)
    entry = new.stateful_set["spec"]["template"]["metadata"]["annotations"][CONFIG_ENTRY]
    assert entry in new.config_map["data"]


def test_fields_that_cannot_change_are_sent_back_as_they_are() -> None:
    old = build()
    found = deepcopy(old.stateful_set)
    found["spec"]["volumeClaimTemplates"][0]["spec"]["volumeMode"] = "Filesystem"
    wanted = build(found, old.config_map, storage={"size": "40Gi"})
    claims = found["spec"]["volumeClaimTemplates"]
    assert wanted.stateful_set["spec"]["volumeClaimTemplates"] == claims


def test_a_new_address_of_the_group_is_an_input() -> None:
    old = build()
    assert build(old.stateful_set, old.config_map, address="10.96.0.9").changed == "address"


def test_a_pod_of_another_template_is_outdated() -> None:
    old = build()
    pod = pod_of(old.stateful_set)
    assert not is_outdated(pod, old.stateful_set)
    new = build(old.stateful_set, old.config_map, flush="sync")
    assert is_outdated(pod, new.stateful_set)


def test_a_rollout_restart_of_kubectl_makes_pods_outdated() -> None:
    old = build()
    asked = deepcopy(old.stateful_set)
    annotations = asked["spec"]["template"]["metadata"]["annotations"]
    annotations["kubectl.kubernetes.io/restartedAt"] = "now"
    assert is_outdated(pod_of(old.stateful_set), asked)


def test_annotations_that_others_add_to_a_pod_do_not_make_it_outdated() -> None:
    old = build()
    pod = pod_of(old.stateful_set)
    pod["metadata"]["annotations"]["cni/ip"] = "10.0.0.5"
    assert not is_outdated(pod, old.stateful_set)
    assert pod["metadata"]["annotations"][CONTENT]


def test_annotations_of_a_template_that_a_webhook_rewrites_do_not_make_pods_outdated() -> None:
    asked = deepcopy(build().stateful_set)
    asked["spec"]["template"]["metadata"]["annotations"]["sidecar.example.org/status"] = "wanted"
    pod = pod_of(asked)
    pod["metadata"]["annotations"]["sidecar.example.org/status"] = "injected"
    assert not is_outdated(pod, asked)
