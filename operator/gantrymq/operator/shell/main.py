"""`gantry operator`: the command line of the operator."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.operator.shell import options

# Kubernetes waits 30 s before it kills; the next leader waits for the Lease meanwhile.
STOP_SECONDS: Final = 5.0
CONFIGURATION: Final = 78


RELEASE: Final = "release"
SELF_TEST: Final = "self-test"


def run(argv: Sequence[str]) -> int:
    """Run the operator until it is told to stop, or one of its tools; the exit code."""
    if argv[:1] == [RELEASE]:
        from gantrymq.operator.shell import release  # noqa: PLC0415 - the operator needs it not

        return release.run(argv[1:])
    if argv[:1] == [SELF_TEST]:
        from gantrymq.operator.shell import self_test  # noqa: PLC0415 - as above

        return self_test.run(argv[1:])
    try:
        told = options.parse(argv)
        from gantrymq.operator.kube.api_config import load  # noqa: PLC0415 - --help is quick

        config = load(told.kubeconfig or None)
    except ConfigurationError as error:
        sys.stderr.write(f"gantry operator: {error}\n")
        return CONFIGURATION
    from gantrymq.operator.shell.program import serve  # noqa: PLC0415 - as above
    from gantrymq.runtime import logs, process  # noqa: PLC0415 - as above

    logs.configure(told.log_level, form=told.log_format)
    return process.run(partial(serve, told, config), stop_seconds=STOP_SECONDS)
