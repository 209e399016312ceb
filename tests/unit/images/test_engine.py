"""Tests which builder is used, and how its list of images is read."""

from __future__ import annotations

import pytest

from cluster.shell import ClusterError
from images import engine


def test_the_tags_of_one_repository_are_found_in_their_order() -> None:
    names = ["gantrymq/broker:2", "gantrymq/brokers:9", "other/gantrymq/broker:8",
             "gantrymq/broker:1", "no-tag"]  # fmt: skip
    assert engine.tags_of("gantrymq/broker", names) == ["2", "1"]


def test_a_registry_with_a_port_is_no_tag() -> None:
    assert engine.tags_of("registry:5000/broker", ["registry:5000/broker:1"]) == ["1"]


def test_an_unknown_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGE_ENGINE", "podman")
    with pytest.raises(ClusterError, match="IMAGE_ENGINE is 'podman': set it to docker or buildah"):
        engine.engine_from_environment()


def test_the_environment_names_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGE_ENGINE", "docker")
    assert engine.engine_from_environment().name == "docker"
    monkeypatch.setenv("IMAGE_ENGINE", "buildah")
    assert engine.engine_from_environment().name == "buildah"
