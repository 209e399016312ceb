"""Runs `kubectl gantry`, the command line for clusters on Kubernetes.

kubectl finds the program `kubectl-gantry` on the PATH. `gantry kubectl ...` is the same program.
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from gantrymq.base.errors import GantryError

WRONG_USAGE: Final = 2
FAILED: Final = 1
INTERRUPTED: Final = 130

_NEEDS_CLIENT: Final = (
    "the Kubernetes client for Python is not installed; install it with:"
    " pip install 'gantrymq[kubectl]'"
)


def run(argv: list[str]) -> int:
    """Run one command, and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        from gantrymq.operator.ctl import access, commands  # noqa: PLC0415 - --help is quick
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "kubernetes":
            raise
        sys.stderr.write(f"kubectl gantry: {_NEEDS_CLIENT}\n")
        return FAILED
    try:
        connection = access.KubeAccess(arguments.kubeconfig, arguments.context)
        return commands.COMMANDS[arguments.command](connection, arguments)
    except GantryError as error:
        sys.stderr.write(f"kubectl gantry {arguments.command}: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


def main() -> None:
    """The entry point of the program `kubectl-gantry`."""
    sys.exit(run(sys.argv[1:]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kubectl gantry",
        description="RocketMQ clusters on Kubernetes: their health, plans, topics and masters.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    status = _command(commands, "status", "show a cluster on one screen, or all clusters")
    status.add_argument("cluster", nargs="?", help="name of the BrokerCluster; all if left out")
    status.add_argument("-A", "--all-namespaces", action="store_true", help="of all namespaces")

    plan = _command(commands, "plan", "show what the operator would do next, and what it waits for")
    plan.add_argument("cluster", help="name of the BrokerCluster")

    switch = _command(commands, "switchover", "make another member of a group its master")
    switch.add_argument("cluster", help="name of the BrokerCluster")
    switch.add_argument("group", help="name of the group, such as broker-0")
    switch.add_argument(
        "--to", metavar="MEMBER", help="number or pod of the new master; any member in sync"
    )
    switch.add_argument(
        "--timeout", type=float, default=30.0, metavar="SECONDS", help="how long to wait (30)"
    )

    rotate = _command(
        commands, "rotate-secret", "give the brokers of a cluster a new replication secret"
    )
    rotate.add_argument("cluster", help="name of the BrokerCluster")
    rotate.add_argument("--no-wait", action="store_true", help="request it, and do not wait")
    rotate.add_argument(
        "--timeout", type=float, default=900.0, metavar="SECONDS", help="how long to wait (900)"
    )

    topics = _command(commands, "topics", "show topics, with and without a resource")
    topics.add_argument("cluster", help="name of the BrokerCluster")
    topics.add_argument(
        "--adopt", metavar="TOPIC", help="create a Topic resource for a topic that has none"
    )
    topics.add_argument(
        "--queues", metavar="WRITE/READ", default="", help="with --adopt: the queues of the topic"
    )
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, about: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=about, description=f"{about}.", allow_abbrev=False)
    command.add_argument("-n", "--namespace", help="namespace; the kubeconfig's if left out")
    command.add_argument("-o", "--output", choices=["text", "json"], default="text")
    command.add_argument("--kubeconfig", metavar="FILE", help="a file to use instead of KUBECONFIG")
    command.add_argument("--context", help="context of the kubeconfig")
    return command
