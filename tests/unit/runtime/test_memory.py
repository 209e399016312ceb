"""Tests how the memory of a process is found from the files of both cgroup versions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gantrymq.runtime.memory import memory_bytes

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MIB = 1 << 20


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    return tmp_path / "cgroup"


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    return tmp_path / "mount"


def limit(mount: Path, folder: str, name: str, text: str) -> None:
    path = mount / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def test_a_container_of_v2_sees_its_limit_at_the_root(proc: Path, mount: Path) -> None:
    proc.write_text("0::/\n")
    limit(mount, "", "memory.max", str(512 * MIB))
    assert memory_bytes(proc, mount) == 512 * MIB


def test_the_smallest_limit_above_a_cgroup_counts(proc: Path, mount: Path) -> None:
    proc.write_text("0::/kubepods/pod1/broker\n")
    limit(mount, "kubepods/pod1/broker", "memory.max", "max")
    limit(mount, "kubepods/pod1", "memory.max", str(300 * MIB))
    limit(mount, "kubepods", "memory.max", str(900 * MIB))
    assert memory_bytes(proc, mount) == 300 * MIB


def test_a_container_of_v1_is_limited_though_it_sees_the_path_of_the_host(
    proc: Path, mount: Path
) -> None:
    proc.write_text("11:cpu,cpuacct:/docker/x\n5:hugetlb,memory:/docker/x\n0::/docker/x\n")
    limit(mount, "memory", "memory.limit_in_bytes", str(256 * MIB))
    assert memory_bytes(proc, mount) == 256 * MIB


@pytest.mark.parametrize("text", ["max", "9223372036854771712", ""])
def test_no_limit_leaves_the_machines_memory(proc: Path, mount: Path, text: str) -> None:
    proc.write_text("5:memory:/\n0::/\n")
    limit(mount, "", "memory.max", text)
    limit(mount, "memory", "memory.limit_in_bytes", text)
    assert memory_bytes(proc, mount) == MACHINE


def test_a_kernel_without_cgroups_leaves_the_machines_memory(proc: Path, mount: Path) -> None:
    assert memory_bytes(proc, mount) == MACHINE
