"""Builds a StatefulSet and the ConfigMap that its pods read, for a group or for the name servers.

A pod template is rebuilt only if inputs that the user controls change (`gantrymq.dev/inputs` of
the StatefulSet). An operator that would build another template from the same inputs keeps the
existing one, so its upgrade restarts no pod. If it would build the same template, it reverts edits
by others.

A ConfigMap has an entry for each configuration that some pod reads, named by its digest. So a new
configuration reaches a member by a restart that the operator plans, and never by a crash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.fields import annotation_of, map_at, value_at
from gantrymq.operator.plan.objects.kinds import CONFIG_MAP, STATEFUL_SET
from gantrymq.operator.plan.objects.pods.digest import changed_fields, digest, digest_fields

INPUTS: Final = "gantrymq.dev/inputs"
CONTENT: Final = "gantrymq.dev/content"
"""Digest of the template as the operator built it; on the StatefulSet and on its pods."""
DEFAULT_IMAGE: Final = "gantrymq.dev/default-image"
"""The image of pods whose resource names none: the default of the operator that created them."""
CONFIG_ENTRY: Final = "gantrymq.dev/config"
"""On pods: the entry of the ConfigMap that the pod reads."""
ADDRESS: Final = "gantrymq.dev/address"
"""The clusterIP of a group's Service, which a recreated Service requests again."""
MEMBERS: Final = "gantrymq.dev/members"
"""The number of members a group was created with."""

# `kubectl rollout restart` sets the last one.
_OF_TEMPLATE: Final = (CONTENT, CONFIG_ENTRY, "kubectl.kubernetes.io/restartedAt")

# The API server refuses changes of these fields, so they are sent back unchanged.
_IMMUTABLE: Final = ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates")


@final
@dataclass(frozen=True, slots=True)
class Blueprint:
    """The parts of a workload that depend on the spec; the others depend on existing objects."""

    name: str
    component: str
    group: str
    inputs: Json
    default_image: str
    """The operator's current default image."""
    named_image: str | None
    """The image that the resource names."""
    config: str
    """The text of the configuration file."""
    config_name: str
    """The prefix of the entry's name: `broker` or `namesrv`."""
    template: Callable[[str, str], Json]
    """Builds the template from the image and the entry of the ConfigMap."""
    stateful_set_spec: Json
    """The spec of the StatefulSet without the template."""
    annotations: Json


@final
@dataclass(frozen=True, slots=True)
class Workload:
    """The wanted objects, and the inputs whose change made the StatefulSet differ."""

    config_map: Json
    stateful_set: Json
    changed: str
    """The names of the inputs that changed; empty if they are those of the existing StatefulSet."""


def workload(
    cluster: Cluster,
    blueprint: Blueprint,
    found: Json | None,
    found_config: Json | None,
    pods: Iterable[Json] | None,
) -> Workload:
    """Return the wanted objects. `found` and `found_config` are the observed ones; `pods` is None
    if the pods of the StatefulSet could not be read."""
    inputs = digest_fields(blueprint.inputs)
    before = annotation_of(found or {}, INPUTS)
    pinned = annotation_of(found or {}, DEFAULT_IMAGE) or blueprint.default_image
    key = f"{blueprint.config_name}-{digest(blueprint.config)}.conf"
    template = blueprint.template(blueprint.named_image or pinned, key)
    template["metadata"].setdefault("annotations", {})[CONFIG_ENTRY] = key
    content = digest(template)
    is_kept = (
        found is not None
        and before == inputs
        and annotation_of(found, CONTENT) != content
        and template_entry(found) in map_at(found_config, "data")
    )
    if found is not None and is_kept:
        template, content = deepcopy(found["spec"]["template"]), annotation_of(found, CONTENT)
        entries = dict(map_at(found_config, "data"))
    else:
        template["metadata"]["annotations"][CONTENT] = content
        entries = {key: blueprint.config, **_used(found, found_config, pods, blueprint)}
    annotations = {**blueprint.annotations, INPUTS: inputs, CONTENT: content, DEFAULT_IMAGE: pinned}
    return Workload(
        _config_map(cluster, blueprint, entries),
        _stateful_set(cluster, blueprint, annotations, template, found),
        ", ".join(changed_fields(before, inputs)) if found is not None else "",
    )


def surplus_entries(wanted: Json, found: Json, config_name: str) -> list[str]:
    """Return the entries of an observed ConfigMap that no pod reads any more."""
    ours = re.compile(rf"{config_name}-[0-9a-f]+\.conf")
    left = map_at(found, "data").keys() - map_at(wanted, "data").keys()
    return sorted(key for key in left if ours.fullmatch(key))


def is_outdated(pod: Json, stateful_set: Json) -> bool:
    """Whether a pod was created from another template. Other annotations do not count, because a
    webhook that changes them on each pod would cause restarts for ever."""
    template = map_at(stateful_set, "spec", "template")
    return any(
        annotation_of(pod, key) != wanted
        for key in _OF_TEMPLATE
        if (wanted := annotation_of(template, key))
    )


def _used(
    found: Json | None, found_config: Json | None, pods: Iterable[Json] | None, by: Blueprint
) -> Json:
    """Return the entries that pods read, and that of the old template, from which the StatefulSet
    may be creating a pod."""
    data = map_at(found_config, "data")
    if pods is None:
        return dict(data)
    used = {annotation_of(pod, CONFIG_ENTRY) for pod in pods}
    if found is not None:
        used.add(template_entry(found))
    return {key: data[key] for key in sorted(used & data.keys()) if key.startswith(by.config_name)}


def template_entry(stateful_set: Json) -> str:
    """Return the entry of the ConfigMap that new pods read."""
    return annotation_of(map_at(stateful_set, "spec", "template"), CONFIG_ENTRY)


def _config_map(cluster: Cluster, blueprint: Blueprint, entries: Json) -> Json:
    return cluster.owned(
        CONFIG_MAP, blueprint.name, blueprint.component, blueprint.group, data=entries
    )


def _stateful_set(
    cluster: Cluster, blueprint: Blueprint, annotations: Json, template: Json, found: Json | None
) -> Json:
    spec = {**blueprint.stateful_set_spec, "template": template}
    for key in _IMMUTABLE:
        kept = value_at(found, "spec", key)
        if kept is not None:
            spec[key] = deepcopy(kept)
    return cluster.owned(
        STATEFUL_SET,
        blueprint.name,
        blueprint.component,
        blueprint.group,
        annotations=annotations,
        spec=spec,
    )
