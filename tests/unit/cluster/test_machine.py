"""Tests which obstacles keep a machine from running the cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cluster import machine
from cluster.machine import Facts

GOOD = Facts(
    is_root=True,
    distribution="debian",
    has_namespaces=True,
    has_binaries=True,
    has_go=True,
    has_overlay=True,
    state_filesystem="ext2/ext3",
    memory_bytes=8 << 30,
    free_disk_bytes=50 << 30,
    foreign_interfaces=(),
)


def test_a_good_machine_has_no_obstacles() -> None:
    assert machine.obstacles(GOOD) == []


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        (replace(GOOD, is_root=False, has_namespaces=False), "root"),
        (replace(GOOD, distribution="fedora"), "CLUSTER=kind"),
        (replace(GOOD, has_namespaces=False), "privileged"),
        (replace(GOOD, has_binaries=False, has_go=False), "Go"),
        (replace(GOOD, has_overlay=False), "overlay"),
        (replace(GOOD, state_filesystem="overlayfs"), "GANTRY_CLUSTER_STATE"),
        (replace(GOOD, memory_bytes=2 << 30), "2048 MiB of memory"),
        (replace(GOOD, free_disk_bytes=1 << 30), "1024 MiB of disk"),
        (replace(GOOD, foreign_interfaces=("br-1",)), "br-1"),
    ],
)
def test_each_obstacle_is_named_alone(facts: Facts, word: str) -> None:
    (obstacle,) = machine.obstacles(facts)
    assert word in obstacle


def test_go_is_not_needed_where_the_binaries_are_cached() -> None:
    assert machine.obstacles(replace(GOOD, has_go=False)) == []


def test_all_obstacles_are_listed_at_once() -> None:
    assert len(machine.obstacles(replace(GOOD, distribution="", has_overlay=False))) == 2


def test_a_derivative_of_debian_counts_as_debian() -> None:
    os_release = 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE="debian"\n'
    assert machine.distribution(os_release) == "ubuntu debian"
    assert machine.obstacles(replace(GOOD, distribution="ubuntu debian")) == []


def test_interfaces_with_addresses_of_the_network_are_found_but_not_our_own() -> None:
    listing = (
        "1: lo    inet 127.0.0.1/8 scope host lo\n"
        "5: br-1    inet 172.30.0.1/16 brd 172.30.255.255 scope global br-1\n"
        "6: gantry0    inet 172.30.0.1/24 scope global gantry0\n"
    )
    assert machine.foreign_interfaces(listing) == ("br-1",)


def test_a_package_that_was_removed_is_missing() -> None:
    listing = "runc installed\ncontainerd config-files\n"
    assert machine.missing_packages(["runc", "containerd", "socat"], listing) == [
        "containerd",
        "socat",
    ]
