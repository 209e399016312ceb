"""Compiles with mypyc the hot modules that pyproject.toml declares.

    python -m tools.speedups                  places each library beside its source, where it takes
                                              precedence over the `.py`
    python -m tools.speedups --list           prints the sources
    python -m tools.speedups --write-names    writes the names into runtime/hot_modules.py

The wheel's build hook puts the same libraries into the wheel. A library is up to date when it is
newer than every hot source, this file and the settings.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

GROUP = "gantrymq_speedups"  # names the shared library that several compiled modules hang on
ROOT = Path(__file__).resolve().parent.parent
NAMES_FILE = Path("common/gantrymq/runtime/hot_modules.py")
_NAMES_HEAD = '''\
"""Lists the modules that are compiled where a compiler is present.

Made by `python -m tools.speedups --write-names` from pyproject.toml, which an installation lacks.
"""

from __future__ import annotations

from typing import Final

HOT_MODULES: Final = (
'''

# A C file a module, compiled side by side: one file for all takes three times as long, on one core,
# and is no faster when it runs. setuptools compiles an extension's files one after the other.
_SCRIPT = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from mypyc.build import mypycify
from setuptools import setup
from setuptools.command.build_ext import build_ext

class SideBySide(build_ext):
    def build_extensions(self):
        compiler, started = self.compiler, []
        compile_one, link = compiler._compile, compiler.link_shared_object
        def linked(*arguments, **keywords):
            for each in started:
                each.result()
            link(*arguments, **keywords)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            compiler._compile = lambda *arguments: started.append(
                pool.submit(compile_one, *arguments))
            compiler.link_shared_object = linked
            super().build_extensions()

modules = mypycify(sys.argv[2:], opt_level="2", debug_level="0", multi_file=True,
                   group_name=sys.argv[1])
# The first two are Python's own, and needed: a user's CFLAGS would replace those. By the next two
# calls lead straight to a function, not by way of a table in which another library may replace it.
# A warning that a newer compiler has for mypyc's C must not fail a user's installation.
for module in modules:
    module.extra_compile_args = [*module.extra_compile_args, "-DNDEBUG", "-fwrapv",
                                 "-fvisibility=hidden", "-fno-plt", "-Wno-error"]
setup(name="speedups", ext_modules=modules, cmdclass={"build_ext": SideBySide},
      script_args=["-q", "build_ext", "--build-lib", "built", "--build-temp", "temp"])
"""


# Types of installed packages are left out: a build environment has none of the product's
# dependencies, and the compiled modules must not differ with what happens to be installed.
# `make types` checks the sources against the real packages.
_MYPY_SETTINGS = """\
[mypy]
namespace_packages = True
explicit_package_bases = True
no_site_packages = True
ignore_missing_imports = True
"""


class SpeedupsError(Exception):
    """The hot modules could not be compiled; the text holds the compiler's words."""


def has_compiler() -> bool:
    """Whether the C compiler that setuptools would call is on the PATH."""
    return shutil.which(_compiler()[0]) is not None


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def _try_compiler(folder: Path) -> None:
    """Fail in a second, not after a minute: most often Python's headers are not installed."""
    source = folder / "try.c"
    source.write_text("#include <Python.h>\nint main(void) { return 0; }\n")
    headers = f"-I{sysconfig.get_path('include')}"
    command = [*_compiler(), headers, "-c", str(source), "-o", str(source.with_suffix(".o"))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise SpeedupsError(f"there is no C compiler: {error}") from error
    if done.returncode != 0:
        words = done.stderr.strip() or f"exit code {done.returncode}"
        raise SpeedupsError(f"the C compiler fails: {shlex.join(command)}\n{words}")


def source_roots(root: Path) -> list[str]:
    """The top-level folders that hold the product."""
    return list(_settings(root)["tool"]["hatch"]["build"]["dev-mode-dirs"])


def _settings(root: Path) -> dict[str, Any]:  # Any: the tables of a TOML file
    return tomllib.loads((root / "pyproject.toml").read_text())


def hot_modules(root: Path) -> dict[str, Path]:
    """The modules to compile, each with its source relative to the checkout, sorted by name.

    A package's `__init__.py` is not compiled.
    """
    declared = _settings(root)["tool"]["gantry"]["speedups"]
    exceptions = [name for each in declared.get("exceptions", []) for name in each["modules"]]
    packages, modules = declared["packages"], set(declared["modules"])
    known = _modules(root)
    _refuse_unknown([*packages, *modules, *exceptions], known)
    for name in (*exceptions, *modules):
        if _is_inside(name, packages) != (name in exceptions):
            raise SpeedupsError(
                f"pyproject.toml, [tool.gantry.speedups]: {name} is an exception outside of all"
                " packages, or a module that its package already includes. Remove the name."
            )
    hot = {
        name
        for name in known
        if name in modules or (_is_inside(name, packages) and not _is_inside(name, exceptions))
    }
    return {name: known[name] for name in sorted(hot)}


def hot_sources(root: Path) -> list[Path]:
    """The sources to compile, relative to the checkout."""
    return list(hot_modules(root).values())


def _is_inside(module: str, names: Iterable[str]) -> bool:
    """Whether the module has one of these names, or lies in a package that has."""
    return any(module == name or module.startswith(f"{name}.") for name in names)


def _modules(root: Path) -> dict[str, Path]:
    """Every module of the product with its source, relative to the checkout."""
    sources = [
        path.relative_to(root)
        for source_root in source_roots(root)
        for path in (root / source_root).rglob("*.py")
        if path.name != "__init__.py"
    ]
    return {".".join(path.with_suffix("").parts[1:]): path for path in sources}


def _refuse_unknown(names: Iterable[str], known: Mapping[str, Path]) -> None:
    """A name that a move has left behind would change what is compiled without a word."""
    for name in names:
        if not any(_is_inside(module, [name]) for module in known):
            raise SpeedupsError(
                f"pyproject.toml, [tool.gantry.speedups]: there is no module or package {name}."
                " Write its present name, or remove it."
            )


def names_text(root: Path) -> str:
    """The text of the module that tells an installation which of its modules may be compiled."""
    names = "".join(f'    "{name}",\n' for name in hot_modules(root))
    return f"{_NAMES_HEAD}{names})\n"


def write_names(root: Path) -> None:
    (root / NAMES_FILE).write_text(names_text(root))
    print(f"wrote {NAMES_FILE}")


def compile_into(root: Path, folder: Path) -> dict[Path, Path]:
    """Compile all hot modules below `folder`; answers {library: its place inside the package}."""
    sources = hot_sources(root)
    if not sources:
        return {}
    _try_compiler(folder)
    # Compiled from a copy, by relative names: tracebacks then name `common/...`, not a build path.
    roots = source_roots(root)
    for source_root in roots:
        shutil.copytree(
            root / source_root,
            folder / source_root,
            ignore=shutil.ignore_patterns("*.so", "__pycache__"),
        )
    (folder / "mypy.ini").write_text(f"{_MYPY_SETTINGS}mypy_path = {':'.join(roots)}\n")
    environment = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", _SCRIPT, GROUP, "--config-file=mypy.ini", *map(str, sources)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise SpeedupsError(f"mypyc failed:\n{done.stdout}{done.stderr}")
    built = folder / "built"
    return {path: path.relative_to(built) for path in sorted(built.rglob("*.so"))}


def place_in_checkout(root: Path) -> list[Path]:
    """Compile and put each library beside its source, the shared one into `common`."""
    sources = hot_sources(root)
    placed = []
    started_s = time.time()
    with tempfile.TemporaryDirectory(prefix="gantry-speedups-") as folder:
        try:
            made = compile_into(root, Path(folder))
        finally:
            remove_stale(root)  # late, so that other processes miss the libraries only briefly
        for library, inside in made.items():
            target = root / _home(inside, sources) / inside
            shutil.copy2(library, target)
            # As old as what was compiled: a source edited meanwhile is newer, and so seen as such.
            os.utime(target, (started_s, started_s))
            placed.append(target)
    return placed


def _home(inside: Path, sources: list[Path]) -> Path:
    """The source root that the built library `inside` belongs to."""
    module = inside.with_name(inside.name.split(".")[0] + ".py")
    for source in sources:
        if Path(*source.parts[1:]) == module:
            return Path(source.parts[0])
    return Path("common")


def remove_stale(root: Path) -> None:
    """Delete every library in the source roots: none may outlive its source."""
    for source_root in source_roots(root):
        for library in (root / source_root).rglob("*.so"):
            library.unlink()


def compile_in_place() -> None:
    print("compiling the hot modules, about two minutes on two cores", flush=True)
    began = time.monotonic()
    placed = place_in_checkout(ROOT)
    print(f"compiled {len(placed)} libraries in {time.monotonic() - began:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile the hot modules.")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--list", action="store_true", help="print the sources to compile")
    choice.add_argument("--write-names", action="store_true", help=f"write {NAMES_FILE}")
    arguments = parser.parse_args()
    try:
        if arguments.list:
            print(*hot_sources(ROOT), sep="\n")
        elif arguments.write_names:
            write_names(ROOT)
        else:
            compile_in_place()
    except SpeedupsError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
