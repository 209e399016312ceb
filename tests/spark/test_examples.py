"""The examples of Spark print what their docstrings have, as those of tests/examples do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gantrymq.fakes.example_runs import printed, said
from gantrymq.testing.server import StandaloneServer

RUN_SECONDS = 280.0  # two sessions would not take longer on a busy machine
FOLDER = Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.mark.parametrize("example", sorted(FOLDER.glob("*_spark_*.py")), ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(
    example: Path, gantry_server: StandaloneServer, tmp_path: Path
) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GANTRY_")},
        "NAMESRV_ADDR": gantry_server.name_servers,
        "HOME": str(tmp_path),
    }
    assert printed(example, environment, runs=1, seconds=RUN_SECONDS) == [said(example)]
