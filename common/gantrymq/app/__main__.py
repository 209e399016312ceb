"""Runs the `gantry` command as `python -m gantrymq.app`, where its script is not on the path."""

from __future__ import annotations

from gantrymq.app.entry import main

main()
