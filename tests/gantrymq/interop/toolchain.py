"""Provides the jars of real RocketMQ and the compiled drivers, and caches them between runs.

Layout of the cache, each folder complete or absent (built beside its name, then renamed):

    <cache>/interop/<servers|client|…>-<version>-<digest of pom>/*.jar
    <cache>/interop/<servers|client|…>-<version>-<digest of pom and driver>-driver/*.class
    <cache>/interop/node-<digest of lock file>/node_modules
    <cache>/interop/cpp-<digest of requirements>/rocketmq/librocketmq.so
    <cache>/interop/go-<digest of sources>/driver
    <cache>/interop/go-modules: the modules that Go has fetched
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "interop" / "java"
NODE = SOURCES.parent / "node"
CPP = SOURCES.parent / "cpp"
GO = SOURCES.parent / "go"
COPY_JARS = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
FETCH_TIMEOUT_SECONDS = 600.0  # four sets are 190 MB from Maven Central on a fresh machine
NEEDED = {
    "java": "openjdk-17-jdk-headless",
    "javac": "openjdk-17-jdk-headless",
    "mvn": "maven",
    "npm": "npm",
    "go": "golang-go",
}
GO_FOLDER = "/usr/local/go/bin"  # where Go's installer puts it, which is on no PATH


class JarSet(Enum):
    """A set of jars: the pom that lists it, and the driver that is compiled against it."""

    SERVERS = ("servers", "AdminDriver")
    CLIENT = ("client", "ClientDriver")
    STORE = ("servers", "StoreDriver")
    FILTER = ("servers", "FilterDriver")
    ACL = ("servers", "AclDriver")
    SCENARIOS = ("client", "ScenarioDriver")
    CYCLES = ("client", "CycleDriver")
    GRPC = ("grpc", "GrpcDriver")

    @property
    def pom(self) -> Path:
        return SOURCES / f"{self.value[0]}.xml"

    @property
    def driver(self) -> Path:
        return SOURCES / f"{self.value[1]}.java"


@dataclass(frozen=True, slots=True)
class Java:
    """A release ready to run."""

    version: str
    class_path: str
    driver: str

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])


def missing_tools(
    tools: Iterable[str] = tuple(NEEDED), leaves_out: str = "INTEROP=0"
) -> str | None:
    """The message for a user whose machine lacks a tool; None if it has all."""
    missing = sorted({NEEDED[tool] for tool in tools if _found(tool) is None})
    if not missing:
        return None
    return (
        f"These tests run real RocketMQ and need {' and '.join(missing)}:\n"
        f"    apt-get install {' '.join(missing)}\n"
        f"{leaves_out} leaves them out."
    )


def release(jar_set: JarSet, version: str) -> Java:
    """The class path of one release; fetched and compiled at first use."""
    stem = f"{jar_set.value[0]}-{version}"
    jars_digest = _digest(jar_set.pom)
    jars = _built_once(
        f"{stem}-{jars_digest}", lambda folder: _fetch_jars(jar_set, version, folder)
    )
    driver_digest = _digest(jar_set.pom, jar_set.driver)
    classes = _built_once(
        f"{stem}-{driver_digest}-driver", lambda folder: _compile(jar_set, jars, folder)
    )
    return Java(version, f"{jars}/*:{classes}", jar_set.driver.stem)


def jars_of(pom: Path, version: str | None = None) -> str:
    """The class path of a pom; fetched at first use."""

    def fetch(folder: Path) -> None:
        options = ["-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
        if version is not None:
            options.append(f"-Drocketmq.version={version}")
        _run("mvn", "-q", "-B", "-f", str(pom), *options, COPY_JARS)

    stem = pom.stem if version is None else f"{pom.stem}-{version}"
    return f"{_built_once(f'{stem}-{_digest(pom)}', fetch)}/*"


def proxy(version: str) -> Java:
    """The proxy of one release."""
    return Java(version, jars_of(SOURCES / "proxy.xml", version), "")


def node_modules() -> Path:
    """The client for Node.js; fetched at first use."""
    lock = NODE / "package-lock.json"

    def fetch(folder: Path) -> None:
        for name in ("package.json", lock.name):
            shutil.copy(NODE / name, folder)
        _run("npm", "ci", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund")

    return _built_once(f"node-{_digest(lock)}", fetch) / "node_modules"


def cpp_library() -> Path:
    """The client for C++ from a Python package; fetched at first use."""
    wanted = CPP / "requirements.txt"

    def fetch(folder: Path) -> None:
        options = ("--quiet", "--no-deps", "--require-hashes", "--disable-pip-version-check")
        install = (sys.executable, "-m", "pip", "install", *options)
        _run(*install, "--target", str(folder), "-r", str(wanted))

    return _built_once(f"cpp-{_digest(wanted)}", fetch) / "rocketmq" / "librocketmq.so"


def go_driver() -> Path:
    """The driver with the client for Go; fetched and compiled at first use."""
    modules = cache_folder() / "go-modules"

    def build(folder: Path) -> None:
        # otherwise rm could not remove it
        settings = (f"GOMODCACHE={modules}", "GOFLAGS=-modcacherw")
        options = ("-mod=readonly", "-buildvcs=false", "-trimpath", "-o", str(folder / "driver"))
        _run("env", *settings, str(_found("go")), "build", *options, ".", inside=GO)

    sources = sorted(GO.glob("*.go"))
    return _built_once(f"go-{_digest(GO / 'go.mod', GO / 'go.sum', *sources)}", build) / "driver"


def cache_folder() -> Path:
    """The folder of everything that is fetched or compiled."""
    if chosen := os.environ.get("GANTRY_CACHE"):
        return Path(chosen) / "interop"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "gantrymq" / "interop"


def _built_once(name: str, build: Callable[[Path], None]) -> Path:
    target = cache_folder() / name
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as scratch:
        folder = Path(scratch) / "built"
        folder.mkdir()
        build(folder)
        try:
            folder.rename(target)
        except OSError:  # another process was first, and its result is as good
            if not target.is_dir():
                raise
    return target


def _fetch_jars(jar_set: JarSet, version: str, folder: Path) -> None:
    _run(
        *("mvn", "-q", "-B", "-f", str(jar_set.pom), f"-Drocketmq.version={version}"),
        *("-DincludeScope=runtime", f"-DoutputDirectory={folder}", COPY_JARS),
    )


def _compile(jar_set: JarSet, jars: Path, folder: Path) -> None:
    _run(
        *("javac", "-nowarn", "-proc:none", "-encoding", "UTF-8"),
        *("-cp", f"{jars}/*", "-d", str(folder), str(jar_set.driver)),
    )


def _found(tool: str) -> str | None:
    return shutil.which(tool, path=os.pathsep.join((os.environ.get("PATH", ""), GO_FOLDER)))


def _run(*command: str, inside: Path | None = None) -> None:
    done = subprocess.run(
        command,
        cwd=inside,
        capture_output=True,
        text=True,
        timeout=FETCH_TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")


def _digest(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
