"""Builds the documentation site into build/site; `make site`."""

from __future__ import annotations

import sys

from tools.site.builder import SCRIPT, SITE, build
from tools.site.mermaid import ScriptUnavailableError, script


def main() -> int:
    built = build(SITE)
    print(built.stderr, end="", file=sys.stderr)
    if built.returncode:
        return 1
    try:
        data = script()
    except ScriptUnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    target = SITE / SCRIPT
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    print(f"open {SITE / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
