"""Tests the additional content of the image `spark`: pinned jars and compatible packages."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest

from cluster.shell import ClusterError
from images import payload, spark_payload
from images.components import CHECKOUT
from images.spark_payload import JARS, Jar


def test_the_locked_files_agree_and_pin_the_spark_that_delta_is_built_for() -> None:
    locked = CHECKOUT / "requirements"
    extra = payload.extra_requirements(
        (locked / "spark.txt").read_text(), (locked / "run.txt").read_text()
    )
    version = re.search(r"^pyspark==(\d+\.\d+)\.", extra, re.MULTILINE)
    assert version is not None
    assert JARS[0].artifact == f"delta-spark_{version[1]}_2.13"
    assert "aiohttp==" not in extra


def test_the_chart_names_the_spark_of_the_image() -> None:
    locked = (CHECKOUT / "requirements" / "spark.txt").read_text()
    pinned = re.search(r"^pyspark==(\S+)", locked, re.MULTILINE)
    template = CHECKOUT / "charts/gantry/templates/spark-kubeflow.yaml"
    assert pinned is not None
    assert f"sparkVersion: {pinned[1]}\n" in template.read_text()


def test_another_file_of_the_same_name_is_refused(tmp_path: Path) -> None:
    jar = Jar("org.example", "library", "1.0", hashlib.sha256(b"tested").hexdigest())
    file = tmp_path / jar.file
    file.write_bytes(b"tested")
    spark_payload.check(file, jar)
    file.write_bytes(b"changed")
    with pytest.raises(ClusterError, match=r"library-1\.0\.jar has the SHA-256"):
        spark_payload.check(file, jar)


def test_jars_of_the_cache_are_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ClusterError, match="apt-get install maven"):
        spark_payload.fetched(JARS, tmp_path)
    key = hashlib.sha256(repr(JARS).encode()).hexdigest()
    folder = tmp_path / f"jars-{key[:12]}"
    folder.mkdir()
    assert spark_payload.fetched(JARS, tmp_path) == folder
