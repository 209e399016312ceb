"""Runs `gantry store` on folders of a test."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path
from typing import Any

from gantrymq.app.store_tool import run

VECTORS = Path(__file__).resolve().parents[3] / "vectors"
STORES = ["5.3.3-clean", "5.3.3-crashed", "4.9.8-clean", "4.9.8-crashed"]
LOG = "commitlog/00000000000000000000"
CODE = "from gantrymq.app.entry import main; main()"


def unpack(folder: Path, name: str = "5.3.3-clean") -> Path:
    with tarfile.open(VECTORS / f"store-{name}.tar.gz") as archive:
        # Before 3.11.4 there are no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)  # noqa: S202 - an archive of ours
    return folder / "store"


def program(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-c", CODE, "store", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def gantry(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, which is faster."""
    command = [*map(str, arguments)]
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        code = run(command)
    return subprocess.CompletedProcess(command, code, out.getvalue(), error.getvalue())


def told(*arguments: str | Path) -> tuple[int, Any]:
    """Exit code and JSON; Any: of many shapes."""
    done = gantry(*arguments, "--output", "json")
    return done.returncode, json.loads(done.stdout)


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def damage(store: Path, name: str, position: int, data: bytes = b"\xff\xff") -> None:
    with (store / name).open("r+b") as file:
        file.seek(position)
        file.write(data)


def unmount(store: Path) -> None:
    """Empty the folder of the log, like an unmounted disk."""
    shutil.rmtree(store / "commitlog")
    (store / "commitlog").mkdir()


def unlink(store: Path) -> None:
    """Replace the log by a dangling link, like a missing disk."""
    shutil.rmtree(store / "commitlog")
    (store / "commitlog").symlink_to("/nowhere/commitlog")


def keep_tail(store: Path, start: int, end: int) -> str:
    """Save this part of the log as a truncated tail."""
    data = (store / LOG).read_bytes()[start:end]
    path = f"gantry/tails/{start:020d}-{end:020d}-6-{zlib.crc32(data):08x}"
    (store / path).parent.mkdir(parents=True)
    (store / path).write_bytes(data)
    return path
