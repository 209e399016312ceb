"""Implements the `gantry` command: it runs the program, or the mqadmin command, that is named.

A program is imported only when it runs, so that `gantry --help` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final, NoReturn

_USAGE: Final = """\
usage: gantry PROGRAM|COMMAND [OPTIONS]

programs:
  standalone   start all servers in one process, to try or to develop (gantry standalone --help)
  broker       start a broker (gantry broker --help)
  namesrv      start a name server (gantry namesrv --help)
  completion   a script for bash, zsh or fish: source <(gantry completion bash)
  secure       make certificates, accounts and secrets for servers (gantry secure --help)
  operator     run the Kubernetes operator (gantry operator --help)
  kubectl      operate clusters on Kubernetes, as kubectl gantry does (gantry kubectl --help)
  store        check, dump, repair a store while no broker uses it (gantry store --help)
  spark        archive, replay, stats, dlq, trace: jobs over whole topics (gantry spark --help)

options:
  -h, --help   show this text
  --version    show the version, and which modules run compiled

Commands are mqadmin's, with its options; gantry COMMAND -h shows them. Name servers: -n, or
NAMESRV_ADDR.
"""


def _standalone(arguments: list[str]) -> int:
    from gantrymq.app.standalone import run  # noqa: PLC0415 - programs load when asked for

    return run(arguments)


def _broker(arguments: list[str]) -> int:
    from gantrymq.broker.main import run  # noqa: PLC0415 - as above

    return run(arguments)


def _namesrv(arguments: list[str]) -> int:
    from gantrymq.namesrv.main import run  # noqa: PLC0415 - as above

    return run(arguments)


def _operator(arguments: list[str]) -> int:
    from importlib.util import find_spec  # noqa: PLC0415 - as above

    if find_spec("kopf") is None:
        sys.stderr.write(
            "gantry operator: kopf is not installed, and the operator needs it; install it with"
            " pip install 'gantrymq[operator]'\n"
        )
        return 78
    from gantrymq.operator.shell.main import run  # noqa: PLC0415 - as above

    return run(arguments)


def _kubectl(arguments: list[str]) -> int:
    from gantrymq.operator.ctl.main import run  # noqa: PLC0415 - as above

    return run(arguments)


def _store(arguments: list[str]) -> int:
    from gantrymq.app.store_tool import run  # noqa: PLC0415 - as above

    return run(arguments)


def _spark(arguments: list[str]) -> NoReturn:
    """Spark jobs replace this process: they import packages that this package may not import."""
    command = [sys.executable, "-m", "gantrymq.spark", *arguments]
    os.execv(sys.executable, command)  # noqa: S606 - our own module, and no shell


def _secure(arguments: list[str]) -> int:
    from gantrymq.app.secure.main import run  # noqa: PLC0415 - as above

    return run(arguments)


def _command(arguments: list[str]) -> int:
    """Run a command of mqadmin: every name that is no program."""
    from gantrymq.cli.main import run  # noqa: PLC0415 - as above

    return run(arguments)


_PROGRAMS: Final[dict[str, Callable[[list[str]], int]]] = {
    "broker": _broker,
    "standalone": _standalone,
    "namesrv": _namesrv,
    "operator": _operator,
    "kubectl": _kubectl,
    "secure": _secure,
    "store": _store,
    "spark": _spark,
}


def main() -> None:
    sys.exit(dispatch(sys.argv[1:]))


def dispatch(arguments: list[str]) -> int:
    """Run one program; return its exit code (2: the command line is wrong)."""
    if not arguments or arguments in (["-h"], ["--help"], ["help"]):
        from gantrymq.cli.catalog import overview  # noqa: PLC0415 - as the programs

        sys.stdout.write(_USAGE + overview())
        return 0 if arguments else 2
    if arguments[0] in {"--version", "version"}:
        from gantrymq.app.version import told  # noqa: PLC0415 - as the programs

        sys.stdout.write(told())
        return 0
    program = _PROGRAMS.get(arguments[0])
    return _command(arguments) if program is None else program(arguments[1:])
