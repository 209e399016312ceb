"""Applies the registrations of brokers to the tables.

The rules are Java's (5.3), in its order:

1. An address is registered once, in one cluster: its entry under another id is removed.
2. An id that is held by another address with a larger stateVersion stays with that address; the
   registration is answered with success and ignored.
3. A registration of exactly one topic is an increment; an unknown broker must register in full
   first. An increment removes no topics.
4. The master decides the queues; without a master, the lowest slave that speaks 5.x. Queues change
   if the DataVersion changed, at the first registration of an id, and for topics whose queues on
   this broker are unknown. A slave that acts as master never gets the write permission.
5. A list of filter servers replaces the known one, an empty one removes it, none keeps it.
6. A slave gets its master's address and HA address.

Gantry adds a rule for replicated groups, whose registrations carry the epoch of the master
(`gantryEpoch`): a broker that holds id 0, or an address, with a higher epoch is not replaced by one
with a lower epoch (no epoch is the lowest), whatever stateVersion says. An epoch far above the
known one is refused as a mistake.

A full body equal to the previous one, by fingerprint, changes no queues and is not even decoded:
brokers send the same body every 30 s.
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.base.tasks import SlicedTask
from gantrymq.namesrv.core.limits import NameServerLimits
from gantrymq.namesrv.core.messages import Effects
from gantrymq.namesrv.core.routing.brokers import MASTER_ID, Group, Member
from gantrymq.namesrv.core.routing.placement import Placement
from gantrymq.namesrv.core.routing.registration_request import Refused, Registered, Registration
from gantrymq.namesrv.core.routing.route_memory import Queues, RouteMemory
from gantrymq.namesrv.core.routing.routes import Routes, named, some, without_write_permission
from gantrymq.wire.bodies.registration import RegisterBrokerBody, fingerprint
from gantrymq.wire.bodies.route import QueueData

# New or changed topics of one registration that get a log line each; the rest are counted.
TOPIC_LINES_MAX: Final = 50


class Registrar:
    """Applies registrations to the tables."""

    def __init__(
        self, routes: Routes, effects: Effects, limits: NameServerLimits, memory: RouteMemory
    ) -> None:
        self._routes = routes
        self._effects = effects
        self._limits = limits
        self._memory = memory

    def register(
        self, registration: Registration, now: float, *, delete_topics: bool = False
    ) -> SlicedTask[Registered | Refused]:
        """Register in slices: decode the body with pauses, in which other brokers may register,
        then apply it as a whole. With `delete_topics`, topics that a full registration does not
        list are removed from the broker."""
        cause = self._beyond_bounds(registration) or self._overruled(registration)
        if cause is not None:
            return Refused(cause)
        group = self._routes.groups.get(registration.broker_name)
        known = _known_member(self._routes, registration)
        digest = fingerprint(registration.body)
        if (
            group is not None
            and known is not None
            and known.digest == (digest, _says_where_queues_are(group, registration))
        ):
            return self._refresh(known, group, registration, now)
        try:
            body = yield from RegisterBrokerBody.decode_in_slices(
                registration.body,
                registration.version,
                compressed=registration.compressed,
                topics_max=self._limits.topics_max,
            )
        except RemoteError as error:
            return Refused(f"Failed to decode RegisterBrokerBody, {error}")
        queues = _queues(registration, body)
        yield
        cause = self._beyond_bounds(registration) or self._overruled(registration)
        if cause is not None:
            return Refused(cause)
        group = self._routes.groups.get(registration.broker_name)
        if self._has_older_state(group, registration, body):
            return Registered()
        cause = self._unfit(body, queues) or _increment_refusal(group, registration, body)
        if cause is not None:
            self._effects.warning(
                f"Can't register topicConfigWrapper={some(list(body.topics))} because"
                f" broker[{registration.broker_id}]={registration.address}: {cause}"
            )
            return Refused(cause)
        return self._apply(registration, body, queues, digest, now, delete_topics=delete_topics)

    def _beyond_bounds(self, registration: Registration) -> str | None:
        limits = self._limits
        names = (registration.cluster, registration.broker_name, registration.address)
        if not all(names):
            return "clusterName, brokerName and brokerAddr must be given"
        texts = (*names, registration.ha_address, registration.zone_name or "")
        listeners = (*registration.listeners, *registration.listeners.values())
        if any(len(text) > limits.name_characters_max for text in (*texts, *listeners)):
            return f"a name or address is longer than {limits.name_characters_max} characters"
        if len(registration.listeners) > limits.listeners_max:
            return f"{len(registration.listeners)} listeners; at most {limits.listeners_max}"
        is_known = registration.address in self._routes.members
        if not is_known and len(self._routes.members) >= limits.brokers_max:
            return f"this name server already knows {limits.brokers_max} brokers, its limit"
        return None

    def _unfit(self, body: RegisterBrokerBody, queues: Queues) -> str | None:
        """Why the body does not fit into the tables; None if it does."""
        table, limits = self._routes.topics, self._limits
        if any(len(topic) > limits.name_characters_max for topic in body.topics):
            return f"a topic's name is longer than {limits.name_characters_max} characters"
        servers = body.filter_servers or ()
        if len(servers) > limits.filter_servers_max:
            return f"{len(servers)} filter servers; at most {limits.filter_servers_max}"
        new = sum(1 for topic in body.topics if topic not in table)
        if len(table) + new > limits.topics_max:
            return f"{new} more topics would exceed the {limits.topics_max} of this name server"
        # Counting is slow, so it is skipped if even topics with all different queues would fit.
        most = len(queues) * (len(self._routes.groups) + 1)
        if table.placed_queues + most > limits.placed_queues_max:
            growth = table.growth(queues)
            if table.placed_queues + growth > limits.placed_queues_max:
                return (
                    f"topics have too many different routes: {growth} more queues would exceed the"
                    f" {limits.placed_queues_max} of this name server"
                )
        return self._memory.obstacle(new, queues)

    def _overruled(self, registration: Registration) -> str | None:
        """Why the known epochs forbid this registration; None if they do not."""
        rivals = [self._routes.members.get(registration.address)]
        group = self._routes.groups.get(registration.broker_name)
        cause = self._incredible(registration.epoch, group)
        if cause is not None:
            return cause
        if registration.broker_id == MASTER_ID and group is not None:
            rivals.append(group.master)
        for rival in rivals:
            if rival is not None and rival.epoch > registration.epoch:
                return (
                    f"{rival.address} holds broker id {rival.broker_id} of"
                    f" {rival.broker_name} with epoch {rival.epoch}; {registration.address} came"
                    f" with epoch {registration.epoch}, which is over"
                )
        return None

    def _incredible(self, epoch: int, group: Group | None) -> str | None:
        """Why the epoch is refused: it would lock out the real master; None if it is plausible."""
        members = () if group is None else group.members.values()
        known = max((member.epoch for member in members), default=0)
        highest = self._limits.epoch_max
        if known:
            highest = min(highest, known + self._limits.epoch_step_max)
        if 0 <= epoch <= highest:
            return None
        return f"epoch {epoch} cannot be: {known} is known, so it must be from 0 to {highest}"

    def _has_older_state(
        self, group: Group | None, registration: Registration, body: RegisterBrokerBody
    ) -> bool:
        """Whether rule 2 applies."""
        holder = group.members.get(registration.broker_id) if group is not None else None
        if holder is None or holder.address == registration.address:
            return False
        old, new = holder.data_version.state_version, body.data_version.state_version
        if old <= new or registration.epoch > holder.epoch:
            return False
        self._effects.warning(
            "Registering Broker conflicts with the existed one, just ignore.:"
            f" Cluster:{registration.cluster}, BrokerName:{registration.broker_name},"
            f" BrokerId:{registration.broker_id}, Old BrokerAddr:{holder.address}, Old"
            f" Version:{old}, New BrokerAddr:{registration.address}, New Version:{new}."
        )
        rejected = self._routes.members.get(registration.address)
        if rejected is not None:
            self._routes.remove([rejected])
        return True

    def _apply(
        self,
        registration: Registration,
        body: RegisterBrokerBody,
        queues: Queues,
        digest: bytes,
        now: float,
        *,
        delete_topics: bool,
    ) -> Registered:
        routes = self._routes
        before = routes.members.get(registration.address)
        if before is not None and before.broker_name != registration.broker_name:
            routes.remove([before])
            before = None
        group = routes.group_for(registration.broker_name, registration.cluster)
        lowest_before = min(group.members, default=MASTER_ID)
        is_first = registration.broker_id not in group.members
        # As in Java: compares with what is known of the address in the cluster, under any id.
        is_changed = (
            before is None
            or before.cluster != registration.cluster
            or before.data_version != body.data_version
        )
        member = self._member(before, registration, now)
        routes.install(member, group)
        member.data_version = body.data_version
        says = _says_where_queues_are(group, registration)
        is_increment = len(body.topics) == 1
        member.digest = None if is_increment else (digest, says)
        self._update(member, group, registration, now)
        if before is None:
            self._effects.info(
                f"new broker registered, {named(member)} HAService: {registration.ha_address}"
            )
        if body.filter_servers is not None and body.filter_servers != member.filter_servers:
            member.filter_servers = body.filter_servers
            routes.version += 1
        if says:
            self._place_topics(group.name, queues, everything=is_first or is_changed)
            if delete_topics and not is_increment:
                self._delete_unlisted(group.name, body)
        return _answer(
            group, registration, lowest_id_changed=registration.broker_id < lowest_before
        )

    def _refresh(
        self, member: Member, group: Group, registration: Registration, now: float
    ) -> Registered:
        self._update(member, group, registration, now)
        return _answer(group, registration, unchanged=True)

    def _member(self, before: Member | None, registration: Registration, now: float) -> Member:
        """The member to install: the known one unless its id or cluster changes."""
        identity = (registration.cluster, registration.address, registration.broker_name)
        if (
            before is not None
            and before.broker_id == registration.broker_id
            and before.cluster == registration.cluster
        ):
            return before
        member = Member(*identity, registration.broker_id, now)
        if before is not None:
            member.filter_servers = before.filter_servers
        return member

    def _update(self, member: Member, group: Group, registration: Registration, now: float) -> None:
        """Apply the parts of a registration that do not depend on its body."""
        member.seen_at = now
        member.leaves_at = None
        member.timeout_seconds = registration.timeout_seconds
        member.ha_address = registration.ha_address
        member.epoch = registration.epoch
        self._routes.attach(member, registration.channel)
        acting = bool(registration.enable_acting_master)
        shown = (registration.listeners, acting, registration.zone_name)
        if shown != (member.listeners, group.enable_acting_master, group.zone_name):
            member.listeners, group.enable_acting_master, group.zone_name = shown
            self._routes.version += 1

    def _place_topics(self, broker_name: str, queues: Queues, *, everything: bool) -> None:
        table = self._routes.topics
        known: dict[Placement, QueueData | None] = {}
        changes: list[tuple[str, QueueData]] = []
        lines: list[str] = []
        for topic, queue in queues:
            placement = table.get(topic)
            if placement is None:
                old = None
            elif placement in known:
                old = known[placement]
            else:
                old = known[placement] = placement.on(broker_name)
            if old is not None and not everything:
                continue
            if queue == old:
                continue
            changes.append((topic, queue))
            if len(lines) < TOPIC_LINES_MAX and (placement is None or old is not None):
                lines.append(_topic_line(topic, old, queue))
        table.place(changes)
        for line in lines:
            self._effects.info(line)
        if len(changes) > len(lines):
            self._effects.info(f"registered {len(changes)} topics of {broker_name} in all")

    def _delete_unlisted(self, broker_name: str, body: RegisterBrokerBody) -> None:
        table = self._routes.topics
        placed = table.topics_where(lambda placement: broker_name in placement)
        unlisted = [topic for topic in placed if topic not in body.topics]
        if unlisted and not table.has_room_without(unlisted, self._limits.placed_queues_max):
            self._effects.warning(
                f"topics not deleted broker={broker_name} reason=route limit reached"
            )
        elif unlisted:
            self._effects.info(
                f"deleteTopic, remove one broker's topic {broker_name} {some(unlisted)}"
            )
            table.remove_brokers(unlisted, frozenset({broker_name}))


def _known_member(routes: Routes, registration: Registration) -> Member | None:
    """The registered member with the same identity; None if there is none."""
    member = routes.members.get(registration.address)
    if (
        member is not None
        and member.cluster == registration.cluster
        and member.broker_id == registration.broker_id
        and member.broker_name == registration.broker_name
    ):
        return member
    return None


def _increment_refusal(
    group: Group | None, registration: Registration, body: RegisterBrokerBody
) -> str | None:
    """Why rule 3 refuses the registration; None if it does not."""
    if len(body.topics) != 1:
        return None
    if group is not None and registration.broker_id in group.members:
        return None
    return "it has not registered all its topics yet; one topic alone is an increment"


def _says_where_queues_are(group: Group, registration: Registration) -> bool:
    """Whether the sender decides the queues by rule 4: the master, or else the lowest slave."""
    if registration.broker_id == MASTER_ID:
        return True
    speaks_5 = registration.enable_acting_master is not None
    return speaks_5 and registration.broker_id == group.lowest_id()


def _queues(registration: Registration, body: RegisterBrokerBody) -> Queues:
    """The queues of each topic in the body; topics of the same shape share one object."""
    acts = registration.broker_id != MASTER_ID and bool(registration.enable_acting_master)
    shapes: dict[tuple[int, int, int, int], QueueData] = {}
    queues: Queues = []
    for topic, config in body.topics.items():
        shape = (
            config.read_queue_nums,
            config.write_queue_nums,
            int(config.perm),
            config.topic_sys_flag,
        )
        queue = shapes.get(shape)
        if queue is None:
            queue = QueueData(registration.broker_name, *shape)
            queue = shapes[shape] = without_write_permission(queue) if acts else queue
        queues.append((topic, queue))
    return queues


def _topic_line(topic: str, old: QueueData | None, new: QueueData) -> str:
    if old is None:
        return f"new topic registered, {topic} {_shown(new)}"
    return f"topic changed, {topic} OLD: {_shown(old)} NEW: {_shown(new)}"


def _shown(queue: QueueData) -> str:
    """Format a QueueData as Java prints it."""
    return (
        f"QueueData [brokerName={queue.broker_name}, readQueueNums={queue.read_queue_nums},"
        f" writeQueueNums={queue.write_queue_nums}, perm={queue.perm},"
        f" topicSysFlag={queue.topic_sys_flag}]"
    )


def _answer(
    group: Group,
    registration: Registration,
    *,
    unchanged: bool = False,
    lowest_id_changed: bool = False,
) -> Registered:
    """The result by rule 6."""
    master = group.master
    if registration.broker_id == MASTER_ID or master is None:
        return Registered(None, None, unchanged, lowest_id_changed)
    return Registered(master.address, master.ha_address, unchanged, lowest_id_changed)
