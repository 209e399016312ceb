"""Tests that CPU time and memory of a process include all its children, also ended ones."""

from __future__ import annotations

import subprocess
import sys

from bench.spark.processes import cpu_seconds, memory_mib, tree

PARENT = """
import subprocess, sys
burn = "import time\\nwhile time.process_time() < 0.3: pass"
subprocess.run([sys.executable, "-c", burn], check=True)
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
input()
"""


def test_a_process_counts_with_its_children() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert list(tree(parent.pid)) == [parent.pid, child]
        assert cpu_seconds(parent.pid) >= 0.3, "of the child that has ended"
        assert memory_mib(parent.pid) > memory_mib(child) > 0
        parent.communicate("\n")


def test_ended_process_takes_no_memory() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert cpu_seconds(done.pid) == 0
    assert memory_mib(done.pid) == 0
