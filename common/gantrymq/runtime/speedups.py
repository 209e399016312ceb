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
    "gantrymq.base.bounds",
    "gantrymq.base.memory_account",
    "gantrymq.base.stalls",
    "gantrymq.broker.core.acl.access",
    "gantrymq.broker.core.engine.admission",
    "gantrymq.broker.core.send.batch_sends",
    "gantrymq.broker.core.broker",
    "gantrymq.broker.core.offset.commits",
    "gantrymq.broker.core.engine.table_texts",
    "gantrymq.broker.core.figures.messages",
    "gantrymq.broker.core.figures.requests",
    "gantrymq.broker.core.figures.tally",
    "gantrymq.broker.core.engine.files",
    "gantrymq.broker.core.metadata.groups",
    "gantrymq.broker.core.engine.latency",
    "gantrymq.broker.core.messages",
    "gantrymq.broker.core.offset.offsets",
    "gantrymq.broker.core.pull.pull_requests",
    "gantrymq.broker.core.pull.pulls",
    "gantrymq.broker.core.offset.resets",
    "gantrymq.broker.core.responses",
    "gantrymq.broker.core.admin.stats_series",
    "gantrymq.broker.core.send.session_sends",
    "gantrymq.broker.core.replication.slave_refusals",
    "gantrymq.broker.core.state",
    "gantrymq.broker.core.admin.stats",
    "gantrymq.broker.core.pull.misrouted_consumers",
    "gantrymq.broker.core.filter.subscriptions",
    "gantrymq.broker.core.metadata.system_topics",
    "gantrymq.broker.core.metadata.topics",
    "gantrymq.broker.core.engine.task_runner",
    "gantrymq.broker.links.master_connection",
    "gantrymq.broker.turn_loop",
    "gantrymq.broker.links.slave_connections",
    "gantrymq.client.aio.machinery.driver",
    "gantrymq.client.aio.machinery.message_ids",
    "gantrymq.client.aio.machinery.sending_soon",
    "gantrymq.client.core.send.batches",
    "gantrymq.client.core.push.concurrent_consumption",
    "gantrymq.client.core.flow.lifecycle",
    "gantrymq.client.core.send.record_accumulator",
    "gantrymq.client.core.message.message",
    "gantrymq.client.core.message.namespace",
    "gantrymq.client.core.group.process_queue",
    "gantrymq.client.core.pull.pulls",
    "gantrymq.client.core.send.queue_choice",
    "gantrymq.client.core.message.received",
    "gantrymq.client.core.message.results",
    "gantrymq.client.core.send.send_request",
    "gantrymq.client.core.send.sending",
    "gantrymq.client.core.flow.flow_steps",
    "gantrymq.client.core.flow.semaphore",
    "gantrymq.ha.election.leader_elector",
    "gantrymq.ha.election.candidate_policy",
    "gantrymq.ha.member.replica_state",
    "gantrymq.ha.member.outgoing_links",
    "gantrymq.ha.election.election",
    "gantrymq.ha.disk.epochs",
    "gantrymq.ha.protocol.events",
    "gantrymq.ha.classic.log_sender",
    "gantrymq.ha.classic.log_senders",
    "gantrymq.ha.classic.log_receiver",
    "gantrymq.ha.classic.frames",
    "gantrymq.ha.protocol.handshake",
    "gantrymq.ha.election.in_sync_replicas",
    "gantrymq.ha.lease.lease",
    "gantrymq.ha.election.lease_client_state",
    "gantrymq.ha.protocol.log_stream",
    "gantrymq.ha.member.member",
    "gantrymq.ha.member.member_events",
    "gantrymq.ha.member.incoming_link",
    "gantrymq.ha.member.incoming_links",
    "gantrymq.ha.member.outgoing_link",
    "gantrymq.ha.protocol.member_frames",
    "gantrymq.ha.lease.member_id",
    "gantrymq.ha.protocol.rate",
    "gantrymq.ha.election.switchover",
    "gantrymq.ha.election.lease_timer",
    "gantrymq.metrics.histogram",
    "gantrymq.namesrv.core.routing.answers",
    "gantrymq.namesrv.core.fields",
    "gantrymq.namesrv.core.messages",
    "gantrymq.namesrv.core.nameserver",
    "gantrymq.namesrv.core.handlers.route_requests",
    "gantrymq.remoting.events",
    "gantrymq.remoting.session",
    "gantrymq.runtime.net.backlog",
    "gantrymq.runtime.net.pending_calls",
    "gantrymq.runtime.net.channel",
    "gantrymq.runtime.clock",
    "gantrymq.runtime.net.outbox",
    "gantrymq.store.commitlog.arena",
    "gantrymq.store.dispatch.dispatch_notifier",
    "gantrymq.store.record.batch_parts",
    "gantrymq.store.commitlog.commitlog",
    "gantrymq.store.consumequeue.consumequeue",
    "gantrymq.store.append.replica_appender",
    "gantrymq.store.retention.disk_watch",
    "gantrymq.store.dispatch.dispatch",
    "gantrymq.store.engine",
    "gantrymq.store.commitlog.log_entries",
    "gantrymq.store.record.dispatch_entry",
    "gantrymq.store.commitlog.flush",
    "gantrymq.store.append.write_group",
    "gantrymq.store.index.index",
    "gantrymq.store.index.index_file",
    "gantrymq.store.index.index_flush",
    "gantrymq.store.append.write_batcher",
    "gantrymq.store.append.kernel",
    "gantrymq.store.append.kernel_counts",
    "gantrymq.store.recovery.obsolete_files",
    "gantrymq.store.commitlog.log_blocks",
    "gantrymq.store.commitlog.log_refusal",
    "gantrymq.store.files.flush_positions",
    "gantrymq.store.retention.write_health",
    "gantrymq.store.files.open_files",
    "gantrymq.store.append.pending_put",
    "gantrymq.store.append.pending_sends",
    "gantrymq.store.recovery.persistence",
    "gantrymq.store.record.plain_properties",
    "gantrymq.store.record.property_scan",
    "gantrymq.store.read.pull",
    "gantrymq.store.record.put",
    "gantrymq.store.consumequeue.queue_flush",
    "gantrymq.store.consumequeue.queue_folder",
    "gantrymq.store.consumequeue.queue_unit",
    "gantrymq.store.consumequeue.queues",
    "gantrymq.store.read.async_reader",
    "gantrymq.store.record.record_writer",
    "gantrymq.store.retention.retention",
    "gantrymq.store.files.segments",
    "gantrymq.store.record.send_binary",
    "gantrymq.store.record.send_fields",
    "gantrymq.store.record.send_json",
    "gantrymq.store.append.send_reply",
    "gantrymq.store.sessions.table",
    "gantrymq.store.read.readable_store",
    "gantrymq.store.commitlog.tail",
    "gantrymq.store.read.topic_ages",
    "gantrymq.store.turn",
    "gantrymq.store.consumequeue.unit_pages",
    "gantrymq.store.append.waiters",
    "gantrymq.store.record.walk",
    "gantrymq.store.read.work_meter",
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
