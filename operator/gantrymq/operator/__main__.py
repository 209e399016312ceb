"""`python -m gantrymq.operator`: the same program as `gantry operator`."""

from __future__ import annotations

import sys

from gantrymq.operator.shell.main import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
