"""`python -m gantrymq.app`: the `gantry` command where its script is not on the path."""

from __future__ import annotations

from gantrymq.app.entry import main

main()
