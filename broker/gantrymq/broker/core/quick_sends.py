"""Which sends the compiled kernel takes, straight from receive buffers.

    nobody is kept out, no send has to be judged by more than its topic -> there is a kernel
    a topic that is stored as it comes, and that no crash can forget    -> it serves the topic

Everything else goes the general way (`send_requests.py`), which judges and explains. Invariant:
both store the same bytes and answer the same; what only the general way does, the kernel is not
given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gantrymq.broker.core import sends
from gantrymq.broker.core.messages import Channel
from gantrymq.broker.core.names import TOPIC_CHARACTERS_MAX, topic_fault
from gantrymq.broker.core.topic_names import NOT_FOR_CLIENTS
from gantrymq.store.kernel import Kernel
from gantrymq.store.kernel_counts import KernelCounts
from gantrymq.wire.bodies.shared import Permission, TopicConfig, TopicFilterType

if TYPE_CHECKING:
    from gantrymq.broker.core.settings import BrokerSettings
    from gantrymq.broker.core.state import Identity, State
    from gantrymq.store.settings import StoreSettings

NEVER: Final = float("inf")

# Topics that are judged at once, about 8 us each, when settings or the role have changed; and those
# of each turn after that. Sends to a topic that is not judged yet go the general way.
LOOKED_AT_ONCE: Final = 2_000
LOOKED_A_TURN: Final = 500

# Topics of groups and others that begin so are judged by more than their name.
_GROUPS_BEGIN: Final = "%"


@final
class QuickSends:
    """Of one broker; it keeps `State.kernel`. A machine, to notice what has changed."""

    __slots__ = ("_is_open", "_known", "_left", "_refresh_at", "_state", "_unjudged")

    def __init__(self, state: State) -> None:
        self._state = state
        self._known = _values_of(state)
        self._is_open = False
        self._left: list[KernelCounts] = []
        self._refresh_at = NEVER
        self._unjudged: list[str] = []

    def open(self) -> None:
        """The topics are loaded: from now on the kernel takes what it may."""
        self._is_open = True
        self._state.topics.listen(lambda topic, _: self.look(topic))
        self.refresh()

    def refresh(self) -> None:
        """Settings, or the broker's role, have changed: judge anew."""
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
        """Look at so many of the topics that were not looked at since the last change."""
        for topic in self._unjudged[-count:]:
            self.look(topic)
        del self._unjudged[-count:]

    def take_counts(self) -> list[KernelCounts]:
        """The counts of messages that kernels took since the last call."""
        counts, self._left = self._left, []
        kernel = self._state.kernel
        return counts if kernel is None else counts + kernel.take_counts()

    def look(self, topic: str) -> None:
        """This topic came, changed or went."""
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
            and topic not in self._state.unsaved_topics
            and self._state.quotas.is_served(topic)
            and topic not in NOT_FOR_CLIENTS
            and not topic.startswith(_GROUPS_BEGIN)
            and len(topic) <= TOPIC_CHARACTERS_MAX
            and topic_fault(topic) is None
        )

    # ------------------------------------------------------------------ the machine

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
        """Not for us."""


def _values_of(state: State) -> tuple[BrokerSettings, StoreSettings, Identity]:
    """What the judgement goes by; a change replaces them."""
    return state.settings, state.store.settings, state.identity


def _may_serve(state: State) -> bool:
    """Whether any send may be taken without a look at who sends it and what is allowed now."""
    settings = state.settings
    return (
        state.identity.is_master
        and not state.reign.is_paused
        and not settings.acl_enable
        and not settings.authentication_enabled
        and bool(settings.broker_permission & Permission.WRITE)
        and settings.trace_on  # its replies say so
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
