"""Tests the objects that spark.jobs of the Helm chart becomes, and refused jobs. Needs helm."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gantrymq.e2e.chart import CHART, KUBERNETES, helm
from gantrymq.spark.session import CONFIGURATION

KUBEFLOW = "sparkoperator.k8s.io/v1beta2"
NAMESPACE = "gantry-system"
Json = dict[str, Any]
ONCE: Json = {"name": "once", "job": "archive", "args": ["--topic=Orders", "--path=/data/archive"]}
STREAM = {**ONCE, "continuous": "30s", "resources": {"executors": {"count": 2}}}


def template(
    *jobs: Json, api: str = "", release: str = "gantry", **spark: Any
) -> subprocess.CompletedProcess[str]:
    values = json.dumps({"spark": {"jobs": list(jobs), **spark}})
    apis = ("--api-versions", api) if api else ()
    return subprocess.run(
        [helm(), "template", release, str(CHART), "-n", NAMESPACE, "--kube-version", KUBERNETES,
         *apis, "--values", "-"],
        input=values, capture_output=True, text=True, check=False,
    )  # fmt: skip


def rendered(*jobs: Json, api: str = "", **spark: Any) -> list[Json]:
    """The objects that these jobs add to the chart's."""
    done = template(*jobs, api=api, **spark)
    assert done.returncode == 0, done.stderr
    objects = [each for each in yaml.safe_load_all(done.stdout) if each]
    return [
        each
        for each in objects
        if each["metadata"].get("labels", {}).get("app.kubernetes.io/component") == "spark"
    ]


def refusal(*jobs: Json, api: str = "") -> str:
    done = template(*jobs, api=api)
    assert done.returncode != 0
    return done.stderr


def only(objects: list[Json], kind: str) -> Json:
    [found] = [each for each in objects if each["kind"] == kind]
    return found


def settings(objects: list[Json]) -> dict[str, str]:
    """The lines of spark-defaults.conf."""
    text: str = only(objects, "ConfigMap")["data"]["spark-defaults.conf"]
    return dict(line.split(" ", 1) for line in text.splitlines())


def driver_of(workload: Json) -> Json:
    spec = workload["spec"]
    pod: Json = spec.get("jobTemplate", {"spec": spec})["spec"]["template"]["spec"]
    return pod


def executor_of(objects: list[Json]) -> Json:
    pod: Json = yaml.safe_load(only(objects, "ConfigMap")["data"]["executor.yaml"])
    return pod


def test_without_jobs_there_is_nothing_of_spark() -> None:
    assert rendered() == []


def test_a_job_runs_once_and_a_changed_one_runs_again() -> None:
    first = only(rendered(ONCE), "Job")["metadata"]["name"]
    assert first == only(rendered(ONCE), "Job")["metadata"]["name"]
    changed = {**ONCE, "args": ["--topic=Bills", "--path=/data/archive"]}
    assert only(rendered(changed), "Job")["metadata"]["name"] != first


def test_a_schedule_never_runs_two_drivers_at_once() -> None:
    job = only(rendered({**ONCE, "schedule": "0 * * * *"}), "CronJob")
    assert job["metadata"]["name"] == "gantry-once"
    assert job["spec"]["schedule"] == "0 * * * *"
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    assert job["spec"]["jobTemplate"]["spec"]["podReplacementPolicy"] == "Failed"


def test_a_job_with_wrong_arguments_is_not_retried() -> None:
    spec = only(rendered(ONCE), "Job")["spec"]
    [rule] = spec["podFailurePolicy"]["rules"]
    assert rule["action"] == "FailJob"
    assert set(rule["onExitCodes"]["values"]) == {2, 78}
    [driver] = spec["template"]["spec"]["containers"]
    assert rule["onExitCodes"]["containerName"] == driver["name"]


def test_a_stream_is_one_pod_that_shows_its_metrics() -> None:
    objects = rendered(STREAM)
    stream, service = only(objects, "StatefulSet"), only(objects, "Service")
    assert stream["spec"]["replicas"] == 1
    assert stream["spec"]["serviceName"] == service["metadata"]["name"]
    [driver] = driver_of(stream)["containers"]
    assert driver["args"] == [
        "gantry", "spark", "archive", "--name=once", "--continuous=30s", "--metrics-port=9990",
        "--topic=Orders", "--path=/data/archive",
    ]  # fmt: skip
    labels = stream["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert (
        not service["spec"]["selector"].items()
        <= executor_of(objects)["metadata"]["labels"].items()
    ), "executors have no metrics there"
    assert service["metadata"]["annotations"]["prometheus.io/port"] == "9990"


def test_a_changed_setting_replaces_the_pod_of_a_stream() -> None:
    def pod(job: Json) -> Json:
        template: Json = only(rendered(job), "StatefulSet")["spec"]["template"]
        return template

    assert pod(STREAM) != pod({**STREAM, "conf": {"spark.sql.shuffle.partitions": "4"}})


def test_a_stream_has_a_minute_to_end_its_micro_batch() -> None:
    assert driver_of(only(rendered(STREAM), "StatefulSet"))["terminationGracePeriodSeconds"] == 60


def test_without_executors_the_driver_has_no_rights_and_no_token() -> None:
    objects = rendered(ONCE)
    assert not [each for each in objects if each["kind"] in {"Role", "RoleBinding"}]
    assert driver_of(only(objects, "Job"))["automountServiceAccountToken"] is False
    assert settings(objects)["spark.master"] == "local[2, 3]"
    assert "executor.yaml" not in only(objects, "ConfigMap")["data"]


def test_executors_belong_to_the_pod_of_the_driver() -> None:
    objects = rendered(STREAM)
    found = settings(objects)
    assert found["spark.master"].startswith("k8s://")
    assert found["spark.executor.instances"] == "2"
    assert found["spark.kubernetes.namespace"] == NAMESPACE
    variables = {
        each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"]
        for each in driver_of(only(objects, "StatefulSet"))["containers"][0]["env"]
    }
    assert found["spark.kubernetes.driver.pod.name"] == "${env:POD_NAME}"
    assert found["spark.driver.host"] == "${env:POD_IP}"
    assert variables == {"POD_NAME": "metadata.name", "POD_IP": "status.podIP"}


def test_the_driver_may_only_manage_executors_in_its_namespace() -> None:
    objects = rendered({**STREAM, "namespace": "shop"})
    role = only(objects, "Role")
    assert role["metadata"]["namespace"] == "shop"
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} >= {
        "create", "get", "list", "watch", "delete", "deletecollection",
    }  # fmt: skip
    resources = {each for rule in role["rules"] for each in rule["resources"]}
    assert resources == {"pods", "services", "configmaps", "persistentvolumeclaims"}
    [subject] = only(objects, "RoleBinding")["subjects"]
    account = only(objects, "ServiceAccount")["metadata"]
    assert (subject["name"], subject["namespace"]) == (account["name"], "shop")
    pod = driver_of(only(objects, "StatefulSet"))
    assert pod["serviceAccountName"] == account["name"]
    assert pod["automountServiceAccountToken"] is True


def test_jobs_of_one_namespace_share_an_account() -> None:
    objects = rendered(ONCE, {**ONCE, "name": "two", "resources": {"executors": {"count": 1}}})
    assert only(objects, "ServiceAccount")
    assert only(objects, "Role")


def test_drivers_and_executors_pass_the_restricted_security_level() -> None:
    objects = rendered(STREAM)
    for pod in (driver_of(only(objects, "StatefulSet")), executor_of(objects)["spec"]):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        [container] = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        writable = {each["mountPath"] for each in container["volumeMounts"]}
        assert writable >= {"/tmp", "/opt/spark/work-dir"}  # noqa: S108 - of the container
    assert executor_of(objects)["spec"]["automountServiceAccountToken"] is False


def test_a_driver_has_memory_for_java_and_for_pythons_processes() -> None:
    memory = {"driver": {"memoryMiB": 2048, "overheadMiB": 900}}
    objects = rendered({**ONCE, "resources": memory})
    [driver] = driver_of(only(objects, "Job"))["containers"]
    assert driver["resources"]["limits"]["memory"] == "2948Mi"
    assert settings(objects)["spark.driver.memory"] == "2048m"


def test_storage_is_mounted_by_all_and_outlives_the_release() -> None:
    job = {**STREAM, "storage": {"size": "5Gi", "storageClass": "fast", "mountPath": "/archive"}}
    objects = rendered(job)
    claim = only(objects, "PersistentVolumeClaim")
    assert claim["spec"]["storageClassName"] == "fast"
    assert claim["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    for pod in (driver_of(only(objects, "StatefulSet")), executor_of(objects)["spec"]):
        claims = [each.get("persistentVolumeClaim", {}).get("claimName") for each in pod["volumes"]]
        assert claim["metadata"]["name"] in claims
        mounts = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
        assert mounts["data"] == "/archive"


def test_a_schedule_mounts_its_new_volume_at_once() -> None:
    """`helm --wait` waits for the claim, and that for its first pod."""
    hourly = {**ONCE, "schedule": "0 * * * *"}
    pod = only(rendered({**hourly, "storage": {"size": "5Gi"}}), "Job")["spec"]["template"]["spec"]
    assert pod["containers"][0]["command"] == ["test", "-w", "/data"]
    claims = [each.get("persistentVolumeClaim", {}).get("claimName") for each in pod["volumes"]]
    assert "gantry-once" in claims
    for storage in ({}, {"storage": {"claim": "mine"}}):
        assert not [each for each in rendered({**hourly, **storage}) if each["kind"] == "Job"]


def test_an_existing_claim_is_not_created() -> None:
    objects = rendered({**ONCE, "storage": {"claim": "mine"}})
    assert not [each for each in objects if each["kind"] == "PersistentVolumeClaim"]
    volumes = driver_of(only(objects, "Job"))["volumes"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "mine"}} in volumes


def test_keys_are_files_that_no_argument_shows() -> None:
    objects = rendered({**STREAM, "credentialsSecret": "keys"})
    [driver] = driver_of(only(objects, "StatefulSet"))["containers"]
    assert "--option=credentialsFile=/etc/gantry/credentials/tools.yml" in driver["args"]
    for pod in (driver_of(only(objects, "StatefulSet")), executor_of(objects)["spec"]):
        secrets = [each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each]
        assert secrets == ["keys"]


def test_a_user_program_gets_its_arguments_and_the_same_session() -> None:
    objects = rendered({"name": "mine", "job": "/opt/mine.py", "args": ["a b"], "env": [
        {"name": "COLOUR", "value": "red"}], "nameServers": "x:9876"})  # fmt: skip
    [driver] = driver_of(only(objects, "Job"))["containers"]
    assert driver["args"] == ["python3", "/opt/mine.py", "a b"]
    values = {each["name"]: each.get("value") for each in driver["env"]}
    assert values["COLOUR"] == "red"
    assert values["NAMESRV_ADDR"] == "x:9876"
    found = settings(objects)
    assert all(found[each.name] == each.value for each in CONFIGURATION)


def test_settings_of_the_job_override_defaults() -> None:
    conf = {"spark.sql.shuffle.partitions": "3", "spark.app.name": "other"}
    found = settings(rendered({**ONCE, "conf": conf}))
    assert conf.items() <= found.items()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"job": "guess"}, "spark/jobs/0/job"),
        ({"name": "Not_A_Name"}, "spark/jobs/0/name"),
        ({"resources": {"driver": {"overheadMiB": 100}}}, "overheadMiB"),
        ({"resources": {"executors": {"memoryMiB": 450}}}, "memoryMiB"),
        ({"storage": {}}, "storage"),
        ({"nameserver": "x"}, "nameserver"),
        ({"continuous": "often"}, "continuous"),
        ({"schedule": "@daily", "continuous": True}, "remove one of them"),
        ({"job": "stats", "continuous": True}, "stats ends by itself"),
        ({"engine": "kubeflow"}, "install the Spark operator of Kubeflow first"),
    ],
)
def test_invalid_jobs_are_refused(change: Json, words: str) -> None:
    assert words in refusal({**ONCE, **change})


def test_a_name_that_no_cron_job_may_have_is_refused() -> None:
    done = template({**ONCE, "name": "a" * 40}, release="r" * 20)
    assert "longer than the 52 characters" in done.stderr


@pytest.mark.parametrize(
    ("schedule", "kind"), [("", "SparkApplication"), ("@daily", "ScheduledSparkApplication")]
)
def test_the_spark_operator_of_kubeflow_gets_the_same_job(schedule: str, kind: str) -> None:
    job = {**ONCE, "engine": "kubeflow", "schedule": schedule, "storage": {"claim": "mine"},
           "resources": {"executors": {"count": 3}}}  # fmt: skip
    objects = rendered(job, api=KUBEFLOW, image="registry.example.org/spark:1")
    spec = only(objects, kind)["spec"]
    spec = spec.get("template", spec)
    assert spec["image"] == "registry.example.org/spark:1"
    assert spec["arguments"] == ["archive", "--name=once", "--topic=Orders", "--path=/data/archive"]
    assert spec["executor"]["instances"] == 3
    for role in ("driver", "executor"):
        assert spec[role]["securityContext"]["readOnlyRootFilesystem"] is True
        assert {"name": "data", "mountPath": "/data"} in spec[role]["volumeMounts"]
    assert {each["kind"] for each in objects} == {kind, "ServiceAccount", "Role", "RoleBinding"}


def test_kubeflow_needs_executors() -> None:
    assert "executors.count to 1 or more" in refusal({**ONCE, "engine": "kubeflow"}, api=KUBEFLOW)


def test_the_application_that_kubeflow_starts_is_in_the_image() -> None:
    text = (CHART / "templates" / "spark-kubeflow.yaml").read_text()
    root = Path(__file__).resolve().parents[2]
    assert "/opt/gantry/lib/gantrymq/spark/__main__.py" in text
    assert (root / "spark" / "gantrymq" / "spark" / "__main__.py").is_file()
