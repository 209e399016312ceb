"""Implements `gantry store check`, `stats`, `dump` and `repair`.

Only `repair --yes` writes, and it holds the lock of the store. All other commands open the disk
read-only, so they need no permission to write.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from gantrymq.app import store_dump, store_text
from gantrymq.app.progress_line import ProgressLine
from gantrymq.app.store_text import Json
from gantrymq.base.configuration.properties import decode_properties
from gantrymq.base.configuration.settings import bind, file_layer, flag_layer, settings_to_text
from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.runtime.storage.disk_background import DiskBackground
from gantrymq.store.commitlog.truncated_tails import list_tails
from gantrymq.store.layout import COMMIT_LOG, LOCK
from gantrymq.store.offline.census import Census
from gantrymq.store.offline.file_row import read_row
from gantrymq.store.offline.finding import Findings, Kind
from gantrymq.store.offline.index_inspection import read_heads
from gantrymq.store.offline.inspection import Assumptions, Inspection
from gantrymq.store.offline.repair import Tools, carry_out
from gantrymq.store.offline.repair_plan import (
    RepairOptions,
    RepairPlan,
    Side,
    is_refused,
    make_plan,
)
from gantrymq.store.offline.store_sizes import KEYS, detect
from gantrymq.store.offline.tail_reading import look_at
from gantrymq.store.progress import ProgressTask
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.settings import StoreSettings

SETTABLE: Final = (*KEYS, "messageDelayLevel", "messageIndexEnable", "storePathCommitLog")
NO_LOG: Final = "there is no folder commitlog in it"


@dataclass(frozen=True, slots=True)
class Opened:
    """The store's folder, its disk, and what the command line says about its files."""

    root: Path
    disk: FolderDisk
    assumptions: Assumptions

    @property
    def has_log(self) -> bool:
        return (self.root / COMMIT_LOG).is_dir()


# ---------------------------------------------------------------------- commands


def _check(opened: Opened, arguments: argparse.Namespace) -> int:

    seen = _inspect(opened, arguments)
    _refuse_other_folders(opened, seen)
    _write(arguments, store_text.check_json(seen), store_text.check_lines(seen))
    return 0 if seen.findings.is_sound else 1


def _stats(opened: Opened, arguments: argparse.Namespace) -> int:

    findings = Findings()
    sizes = detect(opened.disk, opened.assumptions.sizes, findings)
    census = Census(opened.disk, read_row(opened.disk, COMMIT_LOG, sizes.log_bytes, findings))
    _follow(arguments, census.run())
    heads = read_heads(opened.disk, sizes.index, findings)
    tails = [look_at(opened.disk, each, sizes.log_bytes) for each in list_tails(opened.disk)]
    told = (census, heads, sizes.index, tails)
    _write(arguments, store_text.stats_json(*told), store_text.stats_lines(*told))
    return 0


def _dump(opened: Opened, arguments: argparse.Namespace) -> int:

    for line in store_dump.lines(opened.disk, opened.assumptions, arguments):
        sys.stdout.write(line + "\n")
    return 0


def _repair(opened: Opened, arguments: argparse.Namespace) -> int:

    if opened.disk.is_locked(LOCK):
        raise ConfigurationError(f"a broker is running on {opened.root}: stop it before a repair")
    if not opened.has_log:
        _refuse_other_folders(opened, _inspect(opened, arguments))
    if arguments.yes:
        opened.disk.lock(LOCK)
    seen = _inspect(opened, arguments)
    refused = is_refused(seen)
    if refused:
        raise ConfigurationError(refused)
    options = RepairOptions(
        Side(arguments.keep) if arguments.keep else None,
        rebuild_queues=arguments.rebuild in {"queues", "all"},
        rebuild_index=arguments.rebuild in {"index", "all"},
    )
    plan = make_plan(seen, options)
    if not arguments.yes or not plan.steps:
        todo = ["nothing to do"] if not plan.left else []
        todo = ["nothing was changed: add --yes to carry out this plan"] if plan.steps else todo
        _write(arguments, store_text.plan_json(plan), [*store_text.plan_lines(plan), *todo])
        return 1 if plan.steps or plan.left else 0
    side = _carry_out(opened, arguments, plan, seen)
    after = _inspect(opened, arguments)
    told: dict[str, Json] = {"plan": store_text.plan_json(plan), "side": side}
    lines = [*store_text.plan_lines(plan), f"the removed parts are in {opened.root / side}", ""]
    _write(
        arguments,
        {**told, "after": store_text.check_json(after)},
        [*lines, *store_text.check_lines(after)],
    )
    return 0 if after.findings.is_sound else 1


def _carry_out(
    opened: Opened, arguments: argparse.Namespace, plan: RepairPlan, seen: Inspection
) -> str:

    side = f"gantry/repair/{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
    background = DiskBackground(opened.disk)
    levels = DelayLevels(opened.assumptions.delay_level)
    tools = Tools(opened.disk, background, seen.sizes, levels, side, _new_index_name)
    try:
        _follow(arguments, carry_out(plan, tools))
    finally:
        background.close()
    return side


def _new_index_name() -> str:
    """The local time, which is how Java names index files."""
    return f"{datetime.now().astimezone():%Y%m%d%H%M%S%f}"[:17]


def _inspect(opened: Opened, arguments: argparse.Namespace) -> Inspection:
    inspection = Inspection(opened.disk, opened.assumptions)
    is_in_use = arguments.command == "check" and opened.disk.is_locked(LOCK)
    _follow(arguments, inspection.run())
    if is_in_use:  # added after the run, because a repeated run discards findings
        inspection.findings.warn(Kind.LOCK, LOCK, "a broker is running on this store")
    return inspection


# ---------------------------------------------------------------------- the store


def _open(arguments: argparse.Namespace) -> Opened:
    root: Path = arguments.directory
    if not root.is_dir():
        raise ConfigurationError(
            f"{root} is not a folder; name the folder storePathRootDir of the broker"
        )
    is_writing = arguments.command == "repair" and arguments.yes
    assumptions = _assumptions(arguments)
    opened = Opened(root, FolderDisk(root, is_read_only=not is_writing), assumptions)
    if arguments.command in {"stats", "dump"} and not opened.has_log:
        link = assumptions.log_link
        why = f"commitlog is a link to {link}, and nothing is there" if link else NO_LOG
        raise ConfigurationError(f"{root} cannot be read: {why}; run gantry store check")
    return opened


def _refuse_other_folders(opened: Opened, seen: Inspection) -> None:
    if not opened.has_log and not seen.missing:
        raise ConfigurationError(f"{opened.root} is not a store: {NO_LOG}; name storePathRootDir")


def _lost_link(log: Path) -> str:
    """The target of the link `commitlog`, if the target does not exist; else ""."""
    return str(log.readlink()) if log.is_symlink() and not log.exists() else ""


def _assumptions(arguments: argparse.Namespace) -> Assumptions:
    layers = []
    path: Path | None = arguments.config_file
    if path is not None:
        try:
            layers.append(file_layer(decode_properties(path.read_bytes()), str(path)))
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    layers.append(flag_layer(dict(_pair(each) for each in arguments.set)))
    bound = bind(StoreSettings, layers)
    settings = bound.settings
    text = settings_to_text(settings)
    log, elsewhere = arguments.directory / COMMIT_LOG, settings.store_path_commit_log
    if elsewhere and os.path.realpath(elsewhere) != os.path.realpath(log):
        raise ConfigurationError(
            f"storePathCommitLog is {elsewhere}; create a link to it: ln -s {elsewhere} {log}"
        )
    said = {key: int(text[key]) for key in KEYS if key in bound.sources}
    return Assumptions(
        said,
        settings.message_delay_level,
        settings.message_index_enable,
        _lost_link(log),
    )


def _pair(item: str) -> tuple[str, str]:
    key, separator, value = item.partition("=")
    if not separator:
        raise ConfigurationError(f"--set {item}: write KEY=VALUE, as in --set maxIndexNum=100")
    if key.strip() not in SETTABLE:
        raise ConfigurationError(f"--set {item}: this command only uses {', '.join(SETTABLE)}")
    return key.strip(), value


# ---------------------------------------------------------------------- output


def _follow(arguments: argparse.Namespace, task: ProgressTask[None]) -> None:
    ProgressLine(sys.stderr, is_wanted=arguments.progress).follow(task)


def _write(arguments: argparse.Namespace, value: Json, lines: Iterable[str]) -> None:
    if arguments.output == "json":
        sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
        return
    for line in lines:
        sys.stdout.write(line + "\n")


_COMMANDS: Final[dict[str, Callable[[Opened, argparse.Namespace], int]]] = {
    "check": _check,
    "stats": _stats,
    "dump": _dump,
    "repair": _repair,
}


def run_command(arguments: argparse.Namespace) -> int:
    """Run the command that the arguments name; return the exit code."""
    opened = _open(arguments)
    try:
        return _COMMANDS[arguments.command](opened, arguments)
    finally:
        opened.disk.close()  # releases the lock
