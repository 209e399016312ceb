"""Runs the commands of `kubectl gantry`: each reads objects of the API, decides, and shows."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from gantrymq.base.errors import GantryError
from gantrymq.operator.ctl import plan_page, secret_rotation, switchover, topics_page
from gantrymq.operator.ctl.access import CLUSTERS, LEASES, TOPICS, ChangedError, Json, KubeAccess
from gantrymq.operator.ctl.plan_reader import read_snapshot
from gantrymq.operator.ctl.status_page import status_lines
from gantrymq.operator.plan import planner

DONE: Final = 0
FAILED: Final = 1

POLL_SECONDS: Final = 0.2
# Each step waits for the kubelets to update files in pods, which takes tens of seconds.
ROTATION_POLL_SECONDS: Final = 1.0
# The operator and the members write the Lease too, so a write may conflict a few times.
TRIES_MAX: Final = 20


class CommandError(GantryError):
    """The command cannot do what was asked; the text says why and what to do."""


def status(access: KubeAccess, arguments: argparse.Namespace) -> int:
    """Show one screen for each cluster."""
    clusters = _clusters(access, arguments)
    if arguments.output == "json":
        _print_json([each.get("status", {}) | {"name": _name(each)} for each in clusters])
        return DONE
    if not clusters:
        raise CommandError(
            "there is no BrokerCluster in this namespace; create one with kubectl apply (see"
            " examples/kubernetes), or list all namespaces with -A"
        )
    _print("\n\n".join("\n".join(status_lines(each)) for each in clusters))
    return DONE


def plan(access: KubeAccess, arguments: argparse.Namespace) -> int:
    """Show what the operator would do next, without changing anything."""
    snapshot = read_snapshot(access, _cluster(access, arguments))
    unread = plan_page.unread_parts(snapshot)
    if unread:
        raise CommandError(
            f"the plan needs {', '.join(unread)}, which you may not list; ask for the right to"
            " list them, or show what the operator waits for: kubectl gantry status"
        )
    made = planner.plan(snapshot, time.time())
    if arguments.output == "json":
        _print_json(plan_page.plan_json(made))
    else:
        _print("\n".join(plan_page.plan_lines(made)))
    return DONE


def topics(access: KubeAccess, arguments: argparse.Namespace) -> int:
    """Show the topics of a cluster, with and without resources; --adopt creates a resource."""
    namespace = _namespace(access, arguments)
    cluster = _cluster(access, arguments)
    if arguments.adopt:
        return _adopt(access, namespace, arguments)
    found = topics_page.of_cluster(access.objects(TOPICS, namespace), arguments.cluster)
    unmanaged = (cluster.get("status") or {}).get("unmanagedTopics") or {}
    if arguments.output == "json":
        _print_json({"topics": found, "unmanagedTopics": unmanaged})
    else:
        _print("\n".join(topics_page.topic_lines(found, unmanaged)))
    return DONE


def _adopt(access: KubeAccess, namespace: str, arguments: argparse.Namespace) -> int:
    write, _, read = arguments.queues.partition("/")
    if not (write.isdecimal() and (read or write).isdecimal()):
        raise CommandError("--queues must be WRITE/READ, the queues of the topic, such as 8/8")
    counts = (int(write), int(read or write))
    body = topics_page.adopting(arguments.cluster, namespace, arguments.adopt, counts)
    access.create(TOPICS, namespace, body)
    name = body["metadata"]["name"]
    _print(f"topic.gantrymq.dev/{name} created; kubectl get topic {name} -n {namespace} shows it")
    return DONE


def switch(access: KubeAccess, arguments: argparse.Namespace) -> int:
    """Request another master for a group, and wait until it leads."""
    namespace, group = _namespace(access, arguments), arguments.group
    _cluster(access, arguments)
    name = f"{arguments.cluster}-{group}"
    target = switchover.member_number(arguments.to, group) if arguments.to else None
    wanted = _request_switchover(access, namespace, name, group, target)
    began = time.monotonic()
    _note(f"requested that member {wanted.target} becomes master of {group}")
    deadline = began + arguments.timeout
    while time.monotonic() < deadline:
        lease = _lease(access, namespace, name, group)
        if switchover.is_done(lease, wanted):
            seconds = time.monotonic() - began
            answer = {"group": group, "master": wanted.target, "epoch": lease.epoch}
            if arguments.output == "json":
                _print_json(answer | {"seconds": round(seconds, 2)})
            else:
                _print(
                    f"member {wanted.target} is master of {group} in epoch {lease.epoch},"
                    f" after {seconds:.1f} s"
                )
            return DONE
        if switchover.is_given_up(lease, wanted):
            raise CommandError(
                f"the master gave up the switchover of {group}: member {lease.holder} leads (epoch"
                f" {lease.epoch}); kubectl gantry status shows which members are in sync"
            )
        time.sleep(POLL_SECONDS)
    raise CommandError(
        f"member {wanted.target} is not master of {group} after {arguments.timeout:g} s. The"
        " request stays in the Lease: a master carries it out, or gives it up if the member is not"
        " in sync for 10 s; kubectl gantry status shows both"
    )


def _request_switchover(
    access: KubeAccess, namespace: str, name: str, group: str, target: int | None
) -> switchover.Request:
    for _ in range(TRIES_MAX):
        wanted = switchover.request(_lease(access, namespace, name, group), group, target)
        try:
            access.patch(LEASES, namespace, name, wanted.body)
        except ChangedError:
            continue
        return wanted
    raise CommandError(f"the Lease {name} changes faster than it can be written; try again")


def rotate_secret(access: KubeAccess, arguments: argparse.Namespace) -> int:
    """Request a new replication secret for a cluster, and wait until all brokers use it alone."""
    namespace, name = _namespace(access, arguments), arguments.cluster
    request = _request_secret(access, namespace, arguments)
    if arguments.no_wait:
        _show_rotation(arguments, request, "Requested", None)
        return DONE
    began, shown = time.monotonic(), None
    while True:
        found = secret_rotation.progress(_cluster(access, arguments), request)
        if found.is_done:
            _show_rotation(arguments, request, "Done", time.monotonic() - began)
            return DONE
        if found.step is not shown and found.step is not None:
            _note(secret_rotation.WORDS[found.step])
            shown = found.step
        if time.monotonic() - began >= arguments.timeout:
            raise CommandError(
                f"the new secret of {name} is not in use after {arguments.timeout:g} s"
                f" ({found.waits or 'the operator gives no reason'}). The operator continues, and"
                f" the cluster works meanwhile; follow it: kubectl gantry status {name} -n"
                f" {namespace}"
            )
        time.sleep(ROTATION_POLL_SECONDS)


def _request_secret(access: KubeAccess, namespace: str, arguments: argparse.Namespace) -> str:
    """Write a request, or find the one that is not done yet; return its text."""
    for _ in range(TRIES_MAX):
        cluster = _cluster(access, arguments)
        secret_rotation.must_not_be_paused(cluster)
        under_way = secret_rotation.pending(cluster)
        if under_way:
            _note(f"a rotation to a new secret is in progress already ({under_way})")
            return under_way
        request = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        try:
            body = secret_rotation.asking(cluster, request)
            access.patch(CLUSTERS, namespace, arguments.cluster, body)
        except ChangedError:
            continue
        _note(f"requested a new secret for {arguments.cluster} ({request})")
        return request
    raise CommandError(
        f"the BrokerCluster {arguments.cluster} changes faster than it can be written; try again"
    )


def _show_rotation(
    arguments: argparse.Namespace, request: str, step: str, seconds: float | None
) -> None:
    if arguments.output == "json":
        answer = {"request": request, "step": step}
        _print_json(answer | ({} if seconds is None else {"seconds": round(seconds, 1)}))
    elif seconds is not None:
        name = arguments.cluster
        _print(f"all brokers of {name} use the new secret alone, after {seconds:.0f} s")
    else:
        _print(f"kubectl gantry status {arguments.cluster} shows the progress")


def _lease(access: KubeAccess, namespace: str, name: str, group: str) -> switchover.GroupLease:
    lease = access.get(LEASES, namespace, name)
    if lease is None:
        raise CommandError(
            f"group {group} has no Lease {name} in namespace {namespace} yet: its members create"
            " it when they first elect a master (kubectl gantry status lists the groups)"
        )
    return switchover.read_lease(lease)


def _clusters(access: KubeAccess, arguments: argparse.Namespace) -> list[Json]:
    if arguments.cluster:
        return [_cluster(access, arguments)]
    namespace = "" if arguments.all_namespaces else _namespace(access, arguments)
    return access.objects(CLUSTERS, namespace)


def _cluster(access: KubeAccess, arguments: argparse.Namespace) -> Json:
    namespace = _namespace(access, arguments)
    found = access.get(CLUSTERS, namespace, arguments.cluster)
    if found is None:
        raise CommandError(
            f"there is no BrokerCluster {arguments.cluster} in namespace {namespace}; kubectl get"
            " brokerclusters -A lists all"
        )
    return found


def _namespace(access: KubeAccess, arguments: argparse.Namespace) -> str:
    return arguments.namespace or access.namespace


def _name(cluster: Json) -> str:
    name: str = cluster["metadata"]["name"]
    return name


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


def _note(text: str) -> None:
    sys.stderr.write(text + "\n")


def _print_json(value: Any) -> None:
    _print(json.dumps(value, indent=2, sort_keys=True))


Command = Callable[[KubeAccess, argparse.Namespace], int]
COMMANDS: Final[dict[str, Command]] = {
    "status": status,
    "plan": plan,
    "topics": topics,
    "switchover": switch,
    "rotate-secret": rotate_secret,
}
