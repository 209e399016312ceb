#!/usr/bin/env python3
"""Starts a program of Gantry in a container, also as process 1.

The kernel drops a signal for which process 1 has no handler. Until the program has installed its
own handlers, a pod that is deleted while it starts would wait out its termination grace period.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn


def end_at_once(number: int, _: object) -> NoReturn:
    os._exit(128 + number)


def main() -> None:
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, end_at_once)
        signal.signal(signal.SIGINT, end_at_once)
    if Path(sys.argv[0]).name == "mqadmin":
        from gantrymq.app.shims import mqadmin  # noqa: PLC0415 - after the handlers

        mqadmin()
    from gantrymq.app.entry import main as gantry  # noqa: PLC0415 - after the handlers

    gantry()


if __name__ == "__main__":
    main()
