"""Adds to the build context what only the image `spark` needs: PySpark and jars."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from cluster.shell import ClusterError, run
from images import payload, sources

# Spark's own copies of Python packages take precedence over the installed ones and have no
# bytecode: each Python process of a driver would compile them. The rest is documentation.
UNNEEDED = (
    *("pyspark/python/lib/pyspark.zip", "pyspark/examples", "pyspark/data"),
    "pyspark/bin/docker-image-tool.sh",
)
COPY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


@dataclass(frozen=True)
class Jar:
    """A Java library, by its coordinates at Maven Central and the digest of its file."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file(self) -> str:
        return f"{self.artifact}-{self.version}.jar"


# The newest Delta, built for the Spark of requirements/spark.txt: with Spark 4.3 its reads fail.
JARS = (
    Jar(
        *("io.delta", "delta-spark_4.2_2.13", "4.4.0"),
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
    Jar(
        *("io.delta", "delta-storage", "4.4.0"),
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
)


def add_to_context(snapshot: Path, context: Path, cache: Path) -> None:
    locked = snapshot / "requirements"
    of_spark = payload.extra_requirements(
        (locked / "spark.txt").read_text(), (locked / "run.txt").read_text()
    )
    packages = payload.installed(of_spark, cache)
    # Links, because the folder is half a gigabyte; cache and context are on the same file system.
    shutil.copytree(packages, context / "spark-dependencies", copy_function=os.link)
    for unneeded in UNNEEDED:
        remove(context / "spark-dependencies" / unneeded)
    shutil.copytree(fetched(JARS, cache), context / "spark-jars")
    launcher = shutil.copy2(
        snapshot / "images" / "spark" / "launcher.py", context / "spark-launcher"
    )
    Path(launcher).chmod(0o755)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def fetched(jars: tuple[Jar, ...], cache: Path) -> Path:
    """The folder of the cache with these jars; Maven fetches them the first time."""
    key = hashlib.sha256(repr(jars).encode()).hexdigest()
    target = cache / f"jars-{key[: sources.DIGEST_LENGTH]}"
    if target.exists():
        return target
    if shutil.which("mvn") is None:
        raise ClusterError(
            "the image spark has jars that Maven fetches, and mvn is not installed: install it "
            "(Debian: apt-get install maven), or build without SPARK=1"
        )
    unfinished = cache / f"{target.name}.{os.getpid()}"
    unfinished.mkdir()
    try:
        for jar in jars:
            run("mvn", "-q", "-B", COPY_PLUGIN, f"-Dartifact={jar.coordinates}",
                f"-DoutputDirectory={unfinished}", timeout_s=payload.INSTALL_TIMEOUT_S)  # fmt: skip
            check(unfinished / jar.file, jar)
    except ClusterError:
        shutil.rmtree(unfinished)
        raise
    for older in cache.glob("jars-*"):
        if older != unfinished:
            shutil.rmtree(older)
    unfinished.rename(target)
    return target


def check(file: Path, jar: Jar) -> None:
    """Refuse a file that differs from the one that was tested."""
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != jar.sha256:
        raise ClusterError(
            f"{file.name} has the SHA-256 {found}, and {jar.sha256} is expected: the file was "
            "changed on its way; remove it from Maven's local repository and build again"
        )
