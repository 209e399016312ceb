"""Tests the entrypoint of the image `spark`: it turns the scheduler's arguments into a command."""

from __future__ import annotations

import pytest

from images.spark.launcher import EXECUTOR, command

EXECUTOR_ENVIRONMENT = {
    "SPARK_HOME": "/opt/spark",
    "SPARK_CONF_DIR": "/opt/spark/conf",
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@10.0.0.1:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "512m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.2",
    "SPARK_EXECUTOR_POD_NAME": "job-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
}


def test_other_commands_run_as_they_are_given() -> None:
    assert command(["gantry", "spark", "--help"], {}) == ["gantry", "spark", "--help"]
    assert command(["ls", "driver"], {}) == ["ls", "driver"]


def test_a_driver_is_submitted_in_client_mode_at_its_pods_address() -> None:
    environment = {"SPARK_HOME": "/opt/spark", "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.1"}
    assert command(["driver", "--class", "Runner", "local:///a.py", "x y"], environment) == [
        "/opt/spark/bin/spark-submit", "--conf", "spark.driver.bindAddress=10.0.0.1",
        "--deploy-mode", "client", "--class", "Runner", "local:///a.py", "x y",
    ]  # fmt: skip


def test_executor_is_configured_by_its_environment() -> None:
    words = command(["executor"], EXECUTOR_ENVIRONMENT)
    at = words.index(EXECUTOR)
    assert words[:at] == [
        "java", "-Xms512m", "-Xmx512m", "-cp", "/opt/spark/conf:/opt/spark/jars/*",
    ]  # fmt: skip
    flags = dict(zip(words[at + 1 :: 2], words[at + 2 :: 2], strict=True))
    assert flags == {
        "--driver-url": "spark://CoarseGrainedScheduler@10.0.0.1:7078",
        "--executor-id": "3",
        "--cores": "2",
        "--app-id": "spark-1",
        "--hostname": "10.0.0.2",
        "--resourceProfileId": "0",
        "--podName": "job-exec-3",
    }


def test_java_gets_its_options_in_the_order_of_their_numbers() -> None:
    options = {f"SPARK_JAVA_OPT_{number}": f"-Dn={number}" for number in (10, 9, 0)}
    words = command(["executor"], EXECUTOR_ENVIRONMENT | options)
    assert words[1:4] == ["-Dn=0", "-Dn=9", "-Dn=10"]


def test_further_jars_come_before_sparks() -> None:
    words = command(["executor"], EXECUTOR_ENVIRONMENT | {"SPARK_CLASSPATH": "/extra/*"})
    assert "/opt/spark/conf:/extra/*:/opt/spark/jars/*" in words


def test_a_variable_that_is_missing_is_named() -> None:
    with pytest.raises(KeyError, match="SPARK_EXECUTOR_MEMORY"):
        command(["executor"], {})
