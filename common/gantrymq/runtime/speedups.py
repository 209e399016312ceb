"""Tells which of the hot modules run compiled, and what it costs if they do not.

A hot module has one source: the library that mypyc makes from it takes precedence over the `.py` if
both exist. To find out, only the packages of the modules are imported, not the modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import find_spec
from typing import Final

from gantrymq.runtime.logs import Log

# Measured with a standalone server: sends and deliveries of 512 bytes.
PURE_ADVICE: Final = (
    "modules that are not compiled need about ten times the CPU for each message; to change that,"
    " install a C compiler and Python's headers (Debian: apt-get install gcc python3-dev) and"
    " install gantrymq again (pip install --force-reinstall --no-cache-dir --no-deps)"
)

_IN_EVERY_SERVER: Final = ("gantrymq.remoting.", "gantrymq.runtime.", "gantrymq.wire.")

HOT_MODULES: Final = (
    "gantrymq.base.memory_account",
    "gantrymq.base.stalls",
    "gantrymq.broker.core.access",
    "gantrymq.broker.core.admission",
    "gantrymq.broker.core.batch_sends",
    "gantrymq.broker.core.broker",
    "gantrymq.broker.core.commits",
    "gantrymq.broker.core.entry_texts",
    "gantrymq.broker.core.figures.messages",
    "gantrymq.broker.core.figures.requests",
    "gantrymq.broker.core.figures.tally",
    "gantrymq.broker.core.files",
    "gantrymq.broker.core.groups",
    "gantrymq.broker.core.latency",
    "gantrymq.broker.core.messages",
    "gantrymq.broker.core.offsets",
    "gantrymq.broker.core.pull_requests",
    "gantrymq.broker.core.pulls",
    "gantrymq.broker.core.resets",
    "gantrymq.broker.core.responses",
    "gantrymq.broker.core.series",
    "gantrymq.broker.core.session_sends",
    "gantrymq.broker.core.slaves",
    "gantrymq.broker.core.state",
    "gantrymq.broker.core.stats",
    "gantrymq.broker.core.strays",
    "gantrymq.broker.core.subscriptions",
    "gantrymq.broker.core.system_topics",
    "gantrymq.broker.core.topics",
    "gantrymq.broker.core.works",
    "gantrymq.broker.master_connection",
    "gantrymq.broker.rounds",
    "gantrymq.broker.slave_connections",
    "gantrymq.client.aio.driver",
    "gantrymq.client.aio.message_ids",
    "gantrymq.client.aio.sending_soon",
    "gantrymq.client.core.batches",
    "gantrymq.client.core.concurrent_consumption",
    "gantrymq.client.core.life",
    "gantrymq.client.core.lingering",
    "gantrymq.client.core.message",
    "gantrymq.client.core.namespace",
    "gantrymq.client.core.process_queue",
    "gantrymq.client.core.pulls",
    "gantrymq.client.core.queue_choice",
    "gantrymq.client.core.received",
    "gantrymq.client.core.results",
    "gantrymq.client.core.send_request",
    "gantrymq.client.core.sending",
    "gantrymq.client.core.steps",
    "gantrymq.client.core.turns",
    "gantrymq.ha.agent",
    "gantrymq.ha.candidacy",
    "gantrymq.ha.chronicle",
    "gantrymq.ha.dials",
    "gantrymq.ha.election",
    "gantrymq.ha.epochs",
    "gantrymq.ha.events",
    "gantrymq.ha.follower",
    "gantrymq.ha.followers",
    "gantrymq.ha.following",
    "gantrymq.ha.frames",
    "gantrymq.ha.handshake",
    "gantrymq.ha.in_sync",
    "gantrymq.ha.lease",
    "gantrymq.ha.lease_desk",
    "gantrymq.ha.log_stream",
    "gantrymq.ha.member",
    "gantrymq.ha.member_events",
    "gantrymq.ha.member_follower",
    "gantrymq.ha.member_followers",
    "gantrymq.ha.member_following",
    "gantrymq.ha.member_frames",
    "gantrymq.ha.place",
    "gantrymq.ha.rate",
    "gantrymq.ha.switchover",
    "gantrymq.ha.tenure",
    "gantrymq.metrics.histogram",
    "gantrymq.namesrv.core.answers",
    "gantrymq.namesrv.core.fields",
    "gantrymq.namesrv.core.messages",
    "gantrymq.namesrv.core.nameserver",
    "gantrymq.namesrv.core.route_requests",
    "gantrymq.remoting.events",
    "gantrymq.remoting.session",
    "gantrymq.runtime.backlog",
    "gantrymq.runtime.calls",
    "gantrymq.runtime.channel",
    "gantrymq.runtime.clock",
    "gantrymq.runtime.outbox",
    "gantrymq.store.arena",
    "gantrymq.store.arrivals",
    "gantrymq.store.batch_parts",
    "gantrymq.store.commitlog",
    "gantrymq.store.consumequeue",
    "gantrymq.store.copies",
    "gantrymq.store.disk_watch",
    "gantrymq.store.dispatch",
    "gantrymq.store.engine",
    "gantrymq.store.entries",
    "gantrymq.store.entry",
    "gantrymq.store.flush",
    "gantrymq.store.group",
    "gantrymq.store.index",
    "gantrymq.store.index_file",
    "gantrymq.store.index_flush",
    "gantrymq.store.intake",
    "gantrymq.store.kernel",
    "gantrymq.store.kernel_counts",
    "gantrymq.store.leftovers",
    "gantrymq.store.log_blocks",
    "gantrymq.store.log_refusal",
    "gantrymq.store.marks",
    "gantrymq.store.obstacles",
    "gantrymq.store.open_files",
    "gantrymq.store.pending_put",
    "gantrymq.store.pending_sends",
    "gantrymq.store.persistence",
    "gantrymq.store.plain_properties",
    "gantrymq.store.property_scan",
    "gantrymq.store.pull",
    "gantrymq.store.put",
    "gantrymq.store.queue_flush",
    "gantrymq.store.queue_folder",
    "gantrymq.store.queue_unit",
    "gantrymq.store.queues",
    "gantrymq.store.readings",
    "gantrymq.store.record_writer",
    "gantrymq.store.retention",
    "gantrymq.store.segments",
    "gantrymq.store.send_binary",
    "gantrymq.store.send_fields",
    "gantrymq.store.send_json",
    "gantrymq.store.send_reply",
    "gantrymq.store.sessions.table",
    "gantrymq.store.sources",
    "gantrymq.store.tail",
    "gantrymq.store.topic_ages",
    "gantrymq.store.turn",
    "gantrymq.store.unit_pages",
    "gantrymq.store.waiters",
    "gantrymq.store.walk",
    "gantrymq.store.work_meter",
    "gantrymq.wire.command",
    "gantrymq.wire.frames",
    "gantrymq.wire.header_binary",
    "gantrymq.wire.header_fields",
    "gantrymq.wire.header_json",
    "gantrymq.wire.header_scan",
    "gantrymq.wire.java_string",
    "gantrymq.wire.message.frame_properties",
    "gantrymq.wire.message.frame_walk",
    "gantrymq.wire.message.properties",
    "gantrymq.wire.message.record",
    "gantrymq.wire.message.sys_flag",
    "gantrymq.wire.message.tags",
    "gantrymq.wire.message.unique_id",
)


def implementations() -> Mapping[str, str]:
    """`compiled` or `pure` for each hot module of this installation."""
    return {name: _implementation(find_spec(name)) for name in HOT_MODULES}


def implementation() -> str:
    """One word if all modules agree; otherwise each module with its word."""
    live = implementations()
    words = set(live.values())
    if len(words) == 1:
        return words.pop()
    return ", ".join(f"{name} {word}" for name, word in live.items())


def of_process() -> str:
    """`compiled` or `pure`, judged by the modules that every server loads: cheap at a start."""
    names = (name for name in HOT_MODULES if name.startswith(_IN_EVERY_SERVER))
    return "pure" if "pure" in {_implementation(find_spec(name)) for name in names} else "compiled"


def report(log: Log) -> None:
    """Log whether this server runs compiled; a warning if it does not, because that is slow."""
    if of_process() == "pure":
        log.warning("running uncompiled", modules="pure", advice=PURE_ADVICE)
    else:
        log.info("running compiled", modules="compiled")


def _implementation(spec: ModuleSpec | None) -> str:
    is_library = (spec.origin if spec and spec.origin else "").endswith(tuple(EXTENSION_SUFFIXES))
    return "compiled" if is_library else "pure"
