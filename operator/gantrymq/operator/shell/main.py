"""Runs `gantry operator`: the operator itself, or one of its tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.operator.shell import options

# Kubernetes kills the process after 30 s, but the next leader waits for the Lease meanwhile.
STOP_SECONDS: Final = 5.0
CONFIGURATION: Final = 78


RELEASE: Final = "release"
SELF_TEST: Final = "self-test"


def run(argv: Sequence[str]) -> int:
    """Run the operator until it is asked to stop, or one of its tools; return the exit code."""
    if argv[:1] == [RELEASE]:
        from gantrymq.operator.shell import release  # noqa: PLC0415 - the operator does not use it

        return release.run(argv[1:])
    if argv[:1] == [SELF_TEST]:
        from gantrymq.operator.shell import self_test  # noqa: PLC0415 - the operator does not use it

        return self_test.run(argv[1:])
    try:
        told = options.parse(argv)
        from gantrymq.operator.kube.api_config import load  # noqa: PLC0415 - --help is quick

        config = load(told.kubeconfig or None)
    except ConfigurationError as error:
        sys.stderr.write(f"gantry operator: {error}\n")
        return CONFIGURATION
    from gantrymq.operator.shell.program import serve  # noqa: PLC0415 - --help is quick
    from gantrymq.runtime import logs, process  # noqa: PLC0415 - --help is quick

    logs.configure(told.log_level, form=told.log_format)
    return process.run(partial(serve, told, config), stop_seconds=STOP_SECONDS)
