"""Installs the newest supported PySpark beside the environment's own, and prints its folder.

`PYTHONPATH=$(python -m tools.newest_spark)` puts it before the PySpark of `.venv`, also for Spark's
Python workers. The folder lies in $GANTRY_CACHE and is made once for each locked version.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
LOCKED: Final = ROOT / "requirements" / "spark-newest.txt"
DIGEST_LENGTH: Final = 12  # hexadecimal digits


def installation(locked: Path, cache: Path) -> Path:
    """The folder of the packages that `locked` pins; installs them unless they are there."""
    key = hashlib.sha256(f"{sys.version}\n{locked.read_text()}".encode()).hexdigest()
    target = cache / "spark" / key[:DIGEST_LENGTH]
    if not target.exists():
        unfinished = target.with_suffix(f".{os.getpid()}")
        install(locked, unfinished)
        for older in target.parent.glob("*"):  # half a GB each
            if older != unfinished:
                shutil.rmtree(older)
        unfinished.rename(target)
    return target


def install(locked: Path, target: Path) -> None:
    """Installs into `target`, which then holds all of it or, when pip fails, does not exist."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    options = ("--no-deps", "--require-hashes", "-r", str(locked), "--target", str(target))
    try:
        # PySpark is half a GB, on a slow network.
        subprocess.run([*pip, *options], check=True, timeout=1800, stdout=sys.stderr)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def main() -> None:
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    cache = Path(os.environ.get("GANTRY_CACHE") or f"{home}/gantrymq")
    print(installation(LOCKED, cache))


if __name__ == "__main__":
    main()
