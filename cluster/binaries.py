"""Builds and caches the cluster's binaries: Kubernetes, etcd, CoreDNS, helm and pause.

They are compiled from the upstream modules that `cluster/go/go.mod` pins. The folder of a build is
named by the hash of all its inputs, so another version builds a new folder, and a restored cache
either matches exactly or is not found. Without a cache the build takes about ten minutes on two
cores; with Go's own build cache, half a minute.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cluster import cache
from cluster.machine import go_program
from cluster.settings import SOURCES, Layout
from cluster.shell import ClusterError, run

GO_MODULE = SOURCES / "go"
PACKAGES = ("./kubernetes", "./coredns", "./pause", "helm.sh/helm/v3/cmd/helm")
COMPONENTS = (  # the names by which the one Kubernetes binary is called
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-proxy",
    "kubelet",
    "kubectl",
)
PROGRAMS = (*COMPONENTS, "kubernetes", "coredns", "pause", "helm")
BUILD_RECIPE = "1"  # part of the key: raise it when `build` changes what it makes
BUILD_TIMEOUT_S = 3600.0  # a cold build took 16 minutes on two busy cores


def build_key(inputs: Mapping[str, bytes], architecture: str) -> str:
    """The name of the cache folder for these source files."""
    digest = hashlib.sha256(f"{BUILD_RECIPE} {architecture}\n".encode())
    for name in sorted(inputs):
        digest.update(f"{name} {len(inputs[name])}\n".encode())
        digest.update(inputs[name])
    return digest.hexdigest()[:16]


def build_inputs(module: Path = GO_MODULE) -> dict[str, bytes]:
    files = [module / "go.mod", module / "go.sum", *module.glob("*/*.go")]
    return {str(path.relative_to(module)): path.read_bytes() for path in files}


def pinned_version(go_mod: str, module: str) -> str:
    """The version that go.mod requires of a module, such as v1.36.3."""
    found = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise ClusterError(f"cluster/go/go.mod requires no version of {module}")
    return found.group(1)


def linker_flags(kubernetes: str, helm: str) -> str:
    """Stamps the versions into the binaries.

    Without them the nodes report v0.0.0, and charts that name a kubeVersion refuse to install.
    """
    major, minor = kubernetes.removeprefix("v").split(".")[:2]
    values = {"helm.sh/helm/v3/internal/version.version": helm}
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        values |= {
            f"{package}.gitVersion": kubernetes,
            f"{package}.gitMajor": major,
            f"{package}.gitMinor": minor,
            f"{package}.gitTreeState": "clean",
            f"{package}.buildDate": "1970-01-01T00:00:00Z",
        }
    return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in values.items())])


def folder(layout: Layout) -> Path:
    return layout.cache / "bin" / build_key(build_inputs(), platform.machine())


def are_built(layout: Layout) -> bool:
    return all((folder(layout) / name).exists() for name in PROGRAMS)


def ensure(layout: Layout) -> Path:
    """The folder of binaries; they are built first if the cache does not have them."""
    target = folder(layout)
    if not are_built(layout):
        go = go_program()
        if go is None:
            raise ClusterError(
                f"the cluster's binaries are not in {target}, and there is no Go to build them: "
                "install the Go release that cluster/go/go.mod names, or restore the cache folder"
            )
        print(
            f"building Kubernetes into {target}: ten minutes without a Go build cache", flush=True
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as scratch:
            built = Path(scratch) / "bin"
            build(go, built)
            if target.exists():  # an incomplete folder, such as a cache that was restored in part
                shutil.rmtree(target)
            built.rename(target)
        cache.prune(target.parent, "?" * 16)  # the length of a key, which no unfinished build has
    return target


def build(go: str, target: Path) -> None:
    """Compile everything with one `go build`, so that shared packages are compiled once."""
    go_mod = (GO_MODULE / "go.mod").read_text()
    flags = linker_flags(
        pinned_version(go_mod, "k8s.io/kubernetes"), pinned_version(go_mod, "helm.sh/helm/v3")
    )
    target.mkdir()
    run(
        *(go, "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", flags),
        *("-o", f"{target}/", *PACKAGES),
        folder=GO_MODULE,
        environment={**os.environ, "CGO_ENABLED": "0"},
        timeout_s=BUILD_TIMEOUT_S,
    )
    for name in COMPONENTS:
        (target / name).symlink_to("kubernetes")
    (target / "versions.json").write_text(json.dumps(versions(), indent=1) + "\n")


def versions() -> dict[str, str]:
    """The versions of the binaries, as `status` prints them."""
    go_mod = (GO_MODULE / "go.mod").read_text()
    modules = {
        "kubernetes": "k8s.io/kubernetes",
        "etcd": "go.etcd.io/etcd/server/v3",
        "coredns": "github.com/coredns/coredns",
        "helm": "helm.sh/helm/v3",
    }
    return {name: pinned_version(go_mod, module) for name, module in modules.items()}
