"""Tests that one history has the same answers however the store is configured."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from gantrymq.sim.store.store_answers import answers, digests, plain_settings
from gantrymq.sim.store.store_script import Ending
from gantrymq.store.settings import FlushDiskType, StoreSettings

SEEDS = range(25)
PLAIN = plain_settings()

WAYS = {
    "longer files of the log": plain_settings(log_file_bytes=10_007),
    "one file of the log": plain_settings(log_file_bytes=1 << 20),
    "a unit a file": plain_settings(queue_units=1),
    "one file a queue": plain_settings(queue_units=5000),
    "one slot": plain_settings(slots=1),
    "one index file": plain_settings(slots=997, entries=5000),
    "an entry a file": plain_settings(entries=2),
    "synchronous flush": replace(PLAIN, flush_disk_type=FlushDiskType.SYNC_FLUSH),
    "busy flushes": replace(
        PLAIN,
        flush_interval_commit_log=1,
        flush_commit_log_least_pages=0,
        flush_interval_consume_queue=1,
        flush_consume_queue_least_pages=0,
        flush_consume_queue_thorough_interval=1,
    ),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize("ending", Ending)
def test_answers_do_not_depend_on_cache_and_file_sizes(way: StoreSettings, ending: Ending) -> None:
    for seed in SEEDS:
        expected = answers(seed, PLAIN, Ending.CLOSE)
        found = answers(seed, way, ending)
        assert found == expected, f"seed {seed}"


def test_compiled_and_pure_answer_the_same() -> None:
    other = "0" if os.environ.get("GANTRY_PURE") == "1" else "1"
    program = (
        "import conftest\n"
        "from gantrymq.sim.store.store_answers import digests\n"
        f"print(digests({len(SEEDS)}))"
    )
    child = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "GANTRY_PURE": other,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout.strip() == digests(len(SEEDS))
