"""Decides of which topics the compiled kernel takes sends directly from receive buffers.

    no access control, and no broker setting that affects each send   -> there is a kernel
    a topic whose messages need no rewriting, and that is persisted   -> the kernel serves it

All other sends take the general path (`send_requests.py`), which checks and explains. Invariant:
both paths store the same bytes and give the same answers. The kernel does not get a send that needs
anything only the general path does.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.core.context import Identity
from gantrymq.broker.core.messages import Channel
from gantrymq.broker.core.names.name_rules import TOPIC_CHARACTERS_MAX, topic_fault
from gantrymq.broker.core.names.topic_names import NOT_FOR_CLIENTS
from gantrymq.broker.core.send import sends
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import State
from gantrymq.store.append.kernel import Kernel
from gantrymq.store.append.kernel_counts import KernelCounts
from gantrymq.store.settings import StoreSettings
from gantrymq.wire.bodies.shared import Permission, TopicConfig, TopicFilterType

# Topics that are judged immediately when settings or the role change (about 8 us each), and topics
# that each later turn judges. Sends to a topic that is not judged yet take the general path.
LOOKED_AT_ONCE: Final = 2_000
LOOKED_A_TURN: Final = 500

# Retry, dead letter and similar topics begin with this and need more checks than their name.
_GROUPS_BEGIN: Final = "%"


@final
class KernelEligibility:
    """Decides for one broker which sends the kernel takes, and owns `State.kernel`.

    It is a periodic service in order to notice changes of settings and role.
    """

    __slots__ = ("_is_open", "_known", "_left", "_refresh_at", "_state", "_unjudged")

    def __init__(self, state: State) -> None:
        self._state = state
        state.quotas.topic_changed = self.look
        self._known = _values_of(state)
        self._is_open = False
        self._left: list[KernelCounts] = []
        self._refresh_at = NEVER
        self._unjudged: list[str] = []

    def open(self) -> None:
        """Start after the topics are loaded."""
        self._is_open = True
        self._state.topics.listen(lambda topic, _: self.look(topic))
        self.refresh()

    def refresh(self) -> None:
        """Build a new kernel and judge all topics again, after a change of settings or role."""
        state = self._state
        self._known = _values_of(state)
        if not self._is_open:
            return
        wait_ms = state.settings.start_accept_send_request_time_stamp - state.wall_ms
        self._refresh_at = state.now + wait_ms / 1000 if wait_ms > 0 else NEVER
        self._left = self.take_counts()
        state.kernel = _kernel_of(state) if wait_ms <= 0 and _may_serve(state) else None
        self._unjudged = list(state.topics.all)
        self._judge(LOOKED_AT_ONCE)

    def _judge(self, count: int) -> None:
        """Judge up to `count` topics of those that were not judged since the last change."""
        for topic in self._unjudged[-count:]:
            self.look(topic)
        del self._unjudged[-count:]

    def take_counts(self) -> list[KernelCounts]:
        """Return and reset the message counts of the kernels."""
        counts, self._left = self._left, []
        kernel = self._state.kernel
        return counts if kernel is None else counts + kernel.take_counts()

    def look(self, topic: str) -> None:
        """Judge one topic that was created, changed or deleted."""
        kernel, config = self._state.kernel, self._state.topics.find(topic)
        if kernel is None:
            return
        name = topic.encode("utf-8", "replace")
        if config is None or not self._is_served(config):
            kernel.forget(name)
        else:
            kernel.serve(name, max(config.read_queue_nums, config.write_queue_nums))

    def _is_served(self, config: TopicConfig) -> bool:
        topic = config.topic_name
        return (
            config.topic_filter_type is TopicFilterType.SINGLE_TAG
            and topic not in self._state.topics.unsaved
            and self._state.quotas.is_served(topic)
            and topic not in NOT_FOR_CLIENTS
            and not topic.startswith(_GROUPS_BEGIN)
            and len(topic) <= TOPIC_CHARACTERS_MAX
            and topic_fault(topic) is None
        )

    # ------------------------------------------------------------------ the periodic service

    def deadline(self) -> float:
        return self._refresh_at if self._is_current and not self._unjudged else 0.0

    @property
    def _is_current(self) -> bool:
        state, (settings, store_settings, identity) = self._state, self._known
        return (
            state.settings is settings
            and state.store.settings is store_settings
            and state.identity is identity
        )

    def expire(self, now: float) -> None:
        if now >= self._refresh_at or not self._is_current:
            self.refresh()
        elif self._unjudged:
            self._judge(LOOKED_A_TURN)

    def closed(self, channel: Channel) -> None:
        """Do nothing: this service keeps no state for connections."""


def _values_of(state: State) -> tuple[BrokerSettings, StoreSettings, Identity]:
    """The objects that the judgement depends on; a change replaces them."""
    return state.settings, state.store.settings, state.identity


def _may_serve(state: State) -> bool:
    """Whether a send may be accepted without checks of its sender and of the broker's
    permissions."""
    settings = state.settings
    return (
        state.identity.is_master
        and not state.is_paused
        and not settings.acl_enable
        and not settings.authentication_enabled
        and bool(settings.broker_permission & Permission.WRITE)
        and settings.trace_on  # the kernel's replies say that tracing is on
    )


def _kernel_of(state: State) -> Kernel:
    store = state.store
    return Kernel(
        store.queues,
        state.identity.store_host,
        region=state.settings.region_id,
        added_properties=sends.added_properties(state),
        max_message_size=store.settings.max_message_size,
        file_bytes=store.settings.mapped_file_size_commit_log,
    )
