#!/usr/bin/env python3
"""Starts the process of a Spark container: a driver, an executor, or any other command.

Spark's scheduler for Kubernetes starts its pods with `driver ARGUMENTS` or with `executor`, and
passes the other values of an executor in environment variables. Any other command is run as it is,
such as `gantry spark archive …` or `spark-submit …`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

EXECUTOR = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
NOT_CONFIGURED = 78
JAVA_OPTION = "SPARK_JAVA_OPT_"
# Options of the executor's program, and the variables in which Spark's scheduler passes their
# values.
FLAGS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def command(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The program and its arguments. KeyError names a variable that Spark should have set."""
    if arguments[:1] == ["driver"]:
        return driver(arguments[1:], environment)
    if arguments[:1] == ["executor"]:
        return executor(environment)
    return list(arguments)


def driver(arguments: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """A submission in cluster mode has created this pod; the driver continues it in client mode."""
    address = environment["SPARK_DRIVER_BIND_ADDRESS"]
    submit = f"{environment['SPARK_HOME']}/bin/spark-submit"
    bound = ("--conf", f"spark.driver.bindAddress={address}")
    return [submit, *bound, "--deploy-mode", "client", *arguments]


def executor(environment: Mapping[str, str]) -> list[str]:
    memory = environment["SPARK_EXECUTOR_MEMORY"]
    home, settings = environment["SPARK_HOME"], environment["SPARK_CONF_DIR"]
    given = environment.get("SPARK_CLASSPATH", "")  # spark.executor.extraClassPath
    class_path = ":".join(each for each in (settings, given, f"{home}/jars/*") if each)
    flags = [word for flag, name in FLAGS.items() for word in (flag, environment[name])]
    return [
        "java",
        *java_options(environment),
        *(f"-Xms{memory}", f"-Xmx{memory}"),
        *("-cp", class_path),
        EXECUTOR,
        *flags,
    ]


def java_options(environment: Mapping[str, str]) -> list[str]:
    """The options, one variable each, in numeric order: SPARK_JAVA_OPT_10 comes after _9."""
    numbers = sorted(
        int(name.removeprefix(JAVA_OPTION)) for name in environment if name.startswith(JAVA_OPTION)
    )
    return [environment[f"{JAVA_OPTION}{number}"] for number in numbers]


def main() -> None:
    try:
        words = command(sys.argv[1:], os.environ)
    except KeyError as error:
        sys.stderr.write(
            f"entrypoint: the environment variable {error.args[0]} is missing. Spark sets it in the"
            f" pods that it makes; to run another command, name it instead of {sys.argv[1]!r}\n"
        )
        sys.exit(NOT_CONFIGURED)
    os.execvp(words[0], words)  # noqa: S606 - the arguments are the program to run


if __name__ == "__main__":
    main()
