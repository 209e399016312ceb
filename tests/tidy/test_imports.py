"""Imports between packages: the contracts cover every package, can fail, and leave no cycle."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Final

import grimp
import pytest

from tidy.source_files import PRODUCT_FILES, ROOT, SOURCE_ROOTS, name

# Any: the tables of a TOML file.
CONTRACTS: Final[Mapping[str, Mapping[str, Any]]] = {
    each["name"]: each
    for each in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
}
PACKAGES: Final = {
    ".".join(path.relative_to(ROOT).parts[1:3])
    for path in PRODUCT_FILES
    if path.relative_to(ROOT).parts[1] == "gantrymq"
}


def contract(beginning: str) -> Mapping[str, Any]:
    """The contract whose name begins so."""
    (found,) = (each for title, each in CONTRACTS.items() if title.startswith(beginning))
    return found


def test_each_package_has_a_layer() -> None:
    layers = [
        package
        for layer in contract("packages import only packages below them")["layers"]
        for package in layer.split(" | ")
    ]
    assert sorted(layers) == sorted(PACKAGES)


def test_each_package_but_sparks_own_is_kept_from_sparks_packages() -> None:
    sources = contract("only gantrymq.spark imports Spark's packages")["source_modules"]
    assert sorted([*sources, "gantrymq.spark"]) == sorted(PACKAGES)


def test_each_core_is_kept_from_io() -> None:
    sources = contract("cores do no I/O")["source_modules"]
    cores = {
        ".".join(path.parent.relative_to(ROOT).parts[1:])
        for path in PRODUCT_FILES
        if path.parent.name == "core"
    }
    assert cores
    assert cores - set(sources) == set()


def test_contracts_name_packages_that_exist() -> None:
    named = [
        module
        for each in CONTRACTS.values()
        for module in (*each.get("source_modules", ()), *each.get("containers", ()))
    ]
    folders = {path.parent for path in PRODUCT_FILES}
    known = {".".join(folder.relative_to(ROOT).parts[1:]) for folder in folders}
    assert [module for module in named if module not in known] == []


def planted_folders() -> list[str]:
    """A core, the deepest folder of each core package, and a layer's bottom."""
    cores = contract("cores do no I/O")["source_modules"]
    folders = {path.parent for path in PRODUCT_FILES if path.name != "py.typed"}
    deepest = {}
    for folder in sorted(folders, key=lambda each: (len(each.parts), str(each))):
        module = ".".join(folder.relative_to(ROOT).parts[1:])
        for core in cores:
            if module == core or module.startswith(f"{core}."):
                deepest[core] = name(folder)
    assert sorted(deepest) == sorted(cores)
    return list(deepest.values())


@pytest.fixture
def copied_sources(tmp_path: Path) -> Path:
    for root in SOURCE_ROOTS:
        shutil.copytree(ROOT / root, tmp_path / root, ignore=shutil.ignore_patterns("*.so"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(checkout: Path) -> subprocess.CompletedProcess[str]:
    script = "import sys; sys.path[:0] = sys.argv[1:]; import importlinter.cli as cli;"
    roots = [str(checkout / root) for root in SOURCE_ROOTS]
    return subprocess.run(
        [sys.executable, "-c", script + "sys.exit(cli.lint_imports(no_cache=True))", *roots],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_linter_finds_imports_planted_in_every_core(copied_sources: Path) -> None:
    """The guard can fail: a contract that matches nothing would look just as green."""
    folders = planted_folders()
    for number, folder in enumerate(folders):
        (copied_sources / folder / f"planted{number}.py").write_text("import time\n")
    above = copied_sources / "common/gantrymq/wire/imports_above.py"
    above.write_text("from gantrymq.runtime import clock\n")
    done = lint_imports(copied_sources)
    assert done.returncode == 1, done.stdout + done.stderr
    found = [number for number in range(len(folders)) if f".planted{number} " in done.stdout]
    assert found == [*range(len(folders))], done.stdout
    assert "gantrymq.wire.imports_above -> gantrymq.runtime" in done.stdout


def nodes(modules: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Each module and its node: its package, or itself where the package has sub-packages."""
    packages = {module.rpartition(".")[0] for module in modules}
    has_packages = {package.rpartition(".")[0] for package in packages}
    for module in modules:
        parent = module.rpartition(".")[0]
        yield module, module if module in packages or parent in has_packages else parent


def first_cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """The nodes of a cycle; an empty list where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


def test_no_cycle_between_packages() -> None:
    """Imports for type checking alone count, too."""
    graph = grimp.build_graph("gantrymq", cache_dir=None)
    # The tests' library shares the namespace.
    product = frozenset(each for each in graph.modules if each.startswith((*PACKAGES,)))
    node = dict(nodes(product))
    edges: dict[str, set[str]] = {each: set() for each in node.values()}
    for module in product:
        for target in graph.find_modules_directly_imported_by(module) & product:
            if node[module] != node[target]:
                edges[node[module]].add(node[target])
    cycle = first_cycle(edges)
    assert cycle == [], " is imported by ".join(cycle)


def test_cycle_is_found() -> None:
    assert first_cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(first_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}
    assert dict(nodes(frozenset({"g", "g.p", "g.p.a", "g.p.q", "g.p.q.b"})))["g.p.q.b"] == "g.p.q"
    assert dict(nodes(frozenset({"g", "g.p", "g.p.a", "g.p.q", "g.p.q.b"})))["g.p.a"] == "g.p.a"
