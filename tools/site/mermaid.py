"""Fetches the script that draws the site's diagrams, once, into the cache.

Material would load it from another site when a page is opened. So the build takes it from its npm
package and puts it beside the pages: the site needs no network.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final

# The newest of the major version that mkdocs-material 9 is made for.
VERSION: Final = "11.17.2"
_SHA256: Final = "581ed7d74bd9048d0e3a91363927d72ef22942d7722546b27f7cc29e35390eb8"
_MEMBER: Final = "package/dist/mermaid.min.js"


class ScriptUnavailableError(Exception):
    """The script could not be fetched, or is not the expected one; the text says what helps."""


def script() -> bytes:
    """The script, from the cache or from its package."""
    default = Path.home() / ".cache" / "gantrymq"
    cached = Path(os.environ.get("GANTRY_CACHE", default)) / "site" / f"mermaid-{VERSION}.min.js"
    if cached.exists():
        return _checked(cached.read_bytes(), f"remove {cached} and build again")
    data = _checked(_fetched(), "give the hash of the new version in tools/site/mermaid.py")
    cached.parent.mkdir(parents=True, exist_ok=True)
    unfinished = cached.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(data)
    unfinished.replace(cached)
    return data


def _fetched() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = ("npm", "pack", f"mermaid@{VERSION}", "--silent", "--pack-destination", folder)
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise ScriptUnavailableError(
                "npm is not installed, and the site's diagrams need its package mermaid:"
                " apt-get install npm"
            ) from error
        except subprocess.CalledProcessError as error:
            raise ScriptUnavailableError(
                f"npm could not fetch mermaid {VERSION}: {error.stderr.strip()}"
            ) from error
        (package,) = Path(folder).glob("*.tgz")
        with tarfile.open(package) as archive:
            member = archive.extractfile(_MEMBER)
            return b"" if member is None else member.read()


def _checked(data: bytes, advice: str) -> bytes:
    found = hashlib.sha256(data).hexdigest()
    if found != _SHA256:
        raise ScriptUnavailableError(
            f"mermaid.min.js of version {VERSION} has the SHA-256 {found}, not {_SHA256}; {advice}"
        )
    return data
