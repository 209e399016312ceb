"""Tests which Python the workers of a job start with, and that a user's choice is kept."""

from __future__ import annotations

import os
import sys

import pytest

from gantrymq.spark.jobs import job_session
from gantrymq.spark.jobs.arguments import SessionArguments

DRIVER, WORKERS = "PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"


def pythons(arguments: SessionArguments) -> tuple[str | None, str | None]:
    """The Python of the driver and that of the workers, after a job has chosen."""
    job_session._use_this_python(arguments)
    return os.environ.get(DRIVER), os.environ.get(WORKERS)


@pytest.fixture(autouse=True)
def _unset_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (DRIVER, WORKERS):
        monkeypatch.setenv(name, "")  # so that the test's end restores them
        monkeypatch.delenv(name)


@pytest.mark.parametrize("master", [None, "local[2]"])
def test_local_workers_use_the_python_of_the_driver(master: str | None) -> None:
    assert pythons(SessionArguments("stats", master)) == (sys.executable, sys.executable)


def test_workers_of_a_cluster_use_the_python_of_their_image() -> None:
    assert pythons(SessionArguments("stats", "k8s://https://cluster")) == (sys.executable, None)


def test_python_that_the_user_names_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DRIVER, "/opt/driver/python")
    monkeypatch.setenv(WORKERS, "/opt/worker/python")
    named = ("/opt/driver/python", "/opt/worker/python")
    assert pythons(SessionArguments("stats", "local[2]")) == named


def test_python_that_the_configuration_names_is_kept() -> None:
    conf = {"spark.pyspark.python": "/opt/worker/python"}
    assert pythons(SessionArguments("stats", "local[2]", conf=conf)) == (None, None)
