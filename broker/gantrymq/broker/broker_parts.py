"""Makes the parts of a broker from its setup: store, state, listeners, audit log, link security."""

from __future__ import annotations

import os
import random
import time
from functools import partial
from pathlib import Path
from typing import Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.configuration import OVERRIDES, Setup
from gantrymq.broker.core.broker import FAST_LISTENER
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.settings import BrokerRole
from gantrymq.broker.core.state import State
from gantrymq.broker.setup.link_security import LinkSecurity
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log
from gantrymq.runtime.memory import memory_bytes
from gantrymq.runtime.net.net import Listener
from gantrymq.runtime.security.certificates import ServerContexts
from gantrymq.runtime.storage.audit_log import AuditLog, audit_file
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.runtime.storage.disk_background import DiskBackground
from gantrymq.store.engine import Store

MAIN_LISTENER: Final = "internal"


def listeners(setup: Setup) -> list[Listener]:
    """The broker's port, and the fast one two below it."""
    settings = setup.settings
    port = settings.listen_port
    fast_port = port - 2 if port > 2 else 0
    return [
        Listener(MAIN_LISTENER, settings.bind_address, port),
        Listener(FAST_LISTENER, settings.bind_address, fast_port),
    ]


def audit_log_of(setup: Setup, clock: Clock) -> AuditLog:
    identity, file = setup.identity, audit_file(setup.settings)
    return AuditLog(f"broker {identity.name}:{identity.broker_id}", file, clock)


def _index_name(clock: Clock) -> str:
    """The name of a new index file, as in Java: the local time as yyyyMMddHHmmssSSS."""
    wall_ms = clock.wall_ms()
    moment = time.localtime(wall_ms // 1000)
    return time.strftime("%Y%m%d%H%M%S", moment) + f"{wall_ms % 1000:03d}"


def store_of(setup: Setup, clock: Clock) -> tuple[FolderDisk, DiskBackground, Store]:
    """The store, not opened yet, and its disk."""
    try:
        setup.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"storePathRootDir={setup.root}: the folder cannot be created: {error.strerror}"
        ) from error
    disk = FolderDisk(setup.root)
    background = DiskBackground(disk)
    store = Store(
        disk,
        background,
        setup.store,
        new_index_name=partial(_index_name, clock),
        local_hour=_local_hour,
        monotonic=clock.monotonic,
        is_copy=setup.group is not None or setup.settings.broker_role is BrokerRole.SLAVE,
    )
    return disk, background, store


def link_security_of(setup: Setup, log: Log) -> LinkSecurity:
    """The security of the replication links, with the certificates of all ports."""
    identity = setup.identity
    group = f"{identity.cluster}/{identity.name}"
    contexts = ServerContexts(setup.tls, log.warning)
    return LinkSecurity(setup.links, contexts, group, identity.broker_id, log.warning)


def state_of(setup: Setup, store: Store, clock: Clock) -> State:
    """The state of the core, with what it needs from the machine."""
    state = State(
        setup.settings,
        setup.identity,
        store,
        chance=random.Random().randrange,  # noqa: S311 - it chooses queues, not secrets
        memory_bytes=memory_bytes(),
        now=clock.monotonic(),
        wall_ms=clock.wall_ms(),
        seal=setup.seal,
    )
    state.stalls.clock = clock.monotonic
    state.stats.local_hour = _local_hour
    # exportMetrics looks here for the number of processors.
    processors = {"clientCallbackExecutorThreads": str(os.cpu_count() or 1)}
    state.configuration.unknown = {**processors, **setup.unknown}
    state.configuration.sources = setup.sources
    return state


def path_of(setup: Setup, file: File) -> Path:
    """Where the broker keeps this file."""
    if file is File.ACL:
        return Path(setup.settings.acl_file)
    if file is File.QUOTAS and setup.settings.quota_file:
        return Path(setup.settings.quota_file)
    return setup.root / (OVERRIDES if file is File.SETTINGS else f"config/{file.value}")


def _local_hour(wall_ms: int) -> int:
    return time.localtime(wall_ms // 1000).tm_hour
