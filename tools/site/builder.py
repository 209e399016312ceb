"""Builds the documentation site with MkDocs in strict mode."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SITE: Final = ROOT / "build" / "site"
SCRIPT: Final = Path("javascripts/mermaid.min.js")


def build(target: Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Build the pages, without the script for diagrams; a fault of a page makes it fail."""
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target))
    # Material's advertisement of its successor would hide the warnings that count.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        command, cwd=root, env=environment, check=False, capture_output=True, text=True
    )
