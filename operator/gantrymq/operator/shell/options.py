"""Parses the command line of the operator. Each option has an environment variable."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import ConfigurationError
from gantrymq.operator.resources.security import SecurityProfile

METRICS_PORT: Final = 5559
BROKER_IMAGE: Final = "gantrymq/broker:latest"
NAME_SERVER_IMAGE: Final = "gantrymq/namesrv:latest"
LEASE_NAME: Final = "gantry-operator"

_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
_FORMATS: Final = ("console", "json")
_PROFILES: Final = tuple(SecurityProfile)
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")

_EPILOG: Final = """\
Each option can be set in the environment: --metrics-port by GANTRY_OPERATOR_METRICS_PORT, and so
on. There, commas separate namespaces and pull secrets. In a pod, the operator uses the API and the
credentials of the service account; elsewhere those of KUBECONFIG or ~/.kube/config.

Two tools have the same options: `gantry operator self-test` creates a small cluster, sends and
consumes messages, and deletes the cluster; `gantry operator release` removes Gantry's finalizers
from all resources, for use after the operator was uninstalled.
"""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options of one operator process."""

    namespaces: tuple[str, ...] = ()
    """The namespaces that the operator serves; empty for all."""
    kubeconfig: str = ""
    leader_election_namespace: str = ""
    """Empty for the pod's namespace, or that of the kubeconfig's context."""
    lease_name: str = LEASE_NAME
    """The name of the Lease: one of the operators that share it leads, the others stand by."""
    metrics_host: str = ""
    """Empty for all addresses."""
    metrics_port: int = METRICS_PORT
    broker_image: str = BROKER_IMAGE
    name_server_image: str = NAME_SERVER_IMAGE
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    security_profile: SecurityProfile = SecurityProfile.OPEN
    """The profile of new clusters that name none."""
    log_level: str = "INFO"
    log_format: str = "console"


def parse(argv: Sequence[str], environment: Mapping[str, str] = os.environ) -> Options:
    """Parse the command line. Raises ConfigurationError for an invalid value."""
    told = _parser(environment).parse_args(argv)
    port = str(told.metrics_port)
    if not port.isdecimal() or int(port) > 65535:
        raise ConfigurationError(f"--metrics-port is {port!r}: give a port, 0 to 65535")
    _must_be_one_of("--log-level", told.log_level, _LEVELS)
    _must_be_one_of("--log-format", told.log_format, _FORMATS)
    _must_be_one_of("--image-pull-policy", told.image_pull_policy, _PULL_POLICIES)
    _must_be_one_of("--security-profile", told.security_profile, _PROFILES)
    return Options(
        namespaces=tuple(told.namespace or _list(environment, "NAMESPACE")),
        kubeconfig=told.kubeconfig,
        leader_election_namespace=told.leader_election_namespace,
        lease_name=told.lease_name or LEASE_NAME,
        metrics_host=told.metrics_host,
        metrics_port=int(port),
        broker_image=told.broker_image,
        name_server_image=told.name_server_image,
        image_pull_policy=told.image_pull_policy,
        image_pull_secrets=tuple(told.image_pull_secret or _list(environment, "IMAGE_PULL_SECRET")),
        security_profile=SecurityProfile(told.security_profile),
        log_level=told.log_level,
        log_format=told.log_format,
    )


def _must_be_one_of(flag: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ConfigurationError(f"{flag} is {value!r}: give {', '.join(allowed)}")


def _list(environment: Mapping[str, str], name: str) -> list[str]:
    text = environment.get(f"GANTRY_OPERATOR_{name}", "")
    return [part.strip() for part in text.split(",") if part.strip()]


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gantry operator",
        description="Run the Kubernetes operator for BrokerCluster and Topic resources.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )

    def add(flag: str, default: object, text: str, metavar: str) -> None:
        name = "GANTRY_OPERATOR_" + flag.removeprefix("--").upper().replace("-", "_")
        parser.add_argument(
            flag, default=environment.get(name, default), help=text, metavar=metavar
        )

    parser.add_argument(
        "--namespace", action="append", default=[], metavar="NAME",
        help="serve this namespace; may be repeated (default: all of them)",
    )  # fmt: skip
    add(
        "--kubeconfig",
        "",
        "kubeconfig of the API (default: in a pod its API, else KUBECONFIG)",
        "FILE",
    )
    add(
        "--leader-election-namespace",
        "",
        "where the operator's own Lease is (default: the pod's namespace)",
        "NAME",
    )
    add("--lease-name", LEASE_NAME, "the operator's own Lease (default: gantry-operator)", "NAME")
    add("--metrics-host", "", "address for probes and metrics (default: every one)", "ADDRESS")
    add("--metrics-port", METRICS_PORT, "port for probes and metrics (default: 5559)", "PORT")
    add("--broker-image", BROKER_IMAGE, "image of brokers that name none", "IMAGE")
    add("--name-server-image", NAME_SERVER_IMAGE, "image of name servers that name none", "IMAGE")
    add("--image-pull-policy", "IfNotPresent", "Always, IfNotPresent or Never", "POLICY")
    parser.add_argument(
        "--image-pull-secret", action="append", default=[], metavar="NAME",
        help="pull secret of pods whose cluster names none; may be repeated",
    )  # fmt: skip
    add("--security-profile", "open", "open or secure, for new clusters that name none", "PROFILE")
    add("--log-level", "INFO", "DEBUG, INFO, WARNING or ERROR", "LEVEL")
    add("--log-format", "console", "console or json", "FORMAT")
    return parser
