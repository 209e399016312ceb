"""Runs a broker's process in a simulated group, with the real core and the real store.

The disk is one of the tests, and `group_disk_jobs.py` says how long its work takes; the turns are
those of `turn_loop.py` and `server.py`.

What arrives goes into the core, and a turn follows; what the core wants done is done when the turn
is over, or later, where the process stood still in between: then authority may have run out, which
is looked at with a fresh clock, as the real one does.

Invariant: a process ends by its power or a signal, by a disk that fails, or because its core asks
for it. Anything else that is raised is a defect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.disk import DiskError
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.messages import (
    Answer,
    AskBroker,
    AskClient,
    AskNameServers,
    Audit,
    AwaitRegistration,
    CloseChannel,
    Effect,
    LogLine,
    Register,
    Release,
    Replies,
    Reply,
    Request,
    SaveFile,
    Spread,
    Tell,
)
from gantrymq.broker.core.state import State
from gantrymq.ha.lease.lease import Lease
from gantrymq.sim.checks.group_authority import LEASE_DEADLINE_SECONDS
from gantrymq.sim.checks.group_checks import Checks
from gantrymq.sim.group.group_callers import Caller, Channel
from gantrymq.sim.group.group_world import Do, Life
from gantrymq.sim.nodes.group_disk_jobs import DiskJobs
from gantrymq.sim.nodes.group_machine import Machine, Replica
from gantrymq.store.files.segments import SyncFailedError
from gantrymq.testing.faulty_disk import PowerCut
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader, encode
from gantrymq.wire.headers.send import SendMessageResponse
from gantrymq.wire.headers.topic import CreateTopicRequest, DeleteTopicRequest

TURN_SECONDS: Final = 0.00005
"""Between what arrives and the turn that takes it."""

_SENDS: Final = frozenset(
    {RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE}
)
_PULLS: Final = frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE})


@final
class BrokerProcess:
    """One life. `ended` is called with a reason when it cannot go on."""

    def __init__(
        self,
        machine: Machine,
        life: Life,
        state: State,
        caller: Caller,
        checks: Checks,
        group_bytes_max: int,
    ) -> None:
        place = machine.place
        self.place = place
        self.life = life
        self.number = place.number
        self.key = machine.volume.key
        self.decided: Lease | None = None
        """What the Lease said when what is leaving now was decided."""
        self.epoch = 0
        self.state = state
        self.core = Broker(state, group_bytes_max=group_bytes_max)
        self.caller = caller
        self.ended: Callable[[str], None] = lambda reason: None
        self.register: Do = lambda: None
        self.replica: Replica | None = None
        self._channels: dict[Channel, None] = {}
        self._checks = checks
        self._disk = machine.volume.disk
        self._disk_jobs = DiskJobs(machine, life, self.enter, self.turn_soon)
        self._files = machine.volume.files
        self._is_masters_turn = False
        self._is_turn_due = False
        self._log = state.store.log
        self._log_end = 0
        self._pace = machine.pace
        self._random = machine.random
        self._wakes_at = NEVER

    @property
    def epoch_seen(self) -> int:
        return 0 if self.replica is None else self.replica.epoch_seen

    @property
    def epoch_copied(self) -> int:
        return 0 if self.replica is None else self.replica.epoch_copied

    @property
    def epoch_told(self) -> int:
        """What name servers are told."""
        return 0 if self.replica is None else self.replica.epoch

    @property
    def flushed(self) -> int:
        return self.state.store.flushed

    @property
    def has_old_clock(self) -> bool:
        """Whether its clocks stood still so short ago that it cannot know that its time is over."""
        return self.place.monotonic < self.place.clock_stood_until + LEASE_DEADLINE_SECONDS

    # ------------------------------------------------------------------ entering

    def enter(self, do: Do) -> None:
        """Everything that runs in this process runs in here."""
        if self.life.is_over:
            return
        try:
            do()
        except PowerCut:
            self.ended("power")
        except SyncFailedError as error:
            self.ended(f"sync failed: {error}")
        except DiskError as error:
            self.place.world.tally["ends by a refusal of the disk"] += 1
            self.ended(f"its disk refuses: {error}")

    def begin(self) -> None:
        """The store is open, and the files are loaded."""
        now, wall_ms = self.place.monotonic, self.place.wall_ms
        self.core.begin(now, wall_ms)
        self.look_at_log()
        self.register()
        self.turn_soon()

    def serve(self, channel: Channel, command: Command) -> None:
        """A request arrives: straight into the store where that is taken, else to its handler."""
        self.enter(lambda: self._serve(channel, command))

    def _serve(self, channel: Channel, command: Command) -> None:
        self._channels[channel] = None
        now, wall_ms = self.place.monotonic, self.place.wall_ms
        if command.code == RequestCode.DELETE_TOPIC_IN_BROKER:
            self._checks.tables.deletes(self.key, DeleteTopicRequest.decode(command.ext).topic)
        if command.code in _SENDS:
            _, count = self.core.feed(channel, encode(command), 0, now, wall_ms)
            if count:
                self.turn_soon()
                return
        outcome = self.core.handle(Request(command, channel), now, wall_ms)
        self.decided = self._checks.known_lease
        if isinstance(outcome, Reply):
            self._respond(channel, command, outcome.command)
        self.turn_soon()

    def hung_up(self, channel: Channel) -> None:
        self.enter(lambda: self._hung_up(channel))

    def _hung_up(self, channel: Channel) -> None:
        if self._channels.pop(channel, 0) is None:
            self.core.closed(channel, self.place.monotonic, self.place.wall_ms)
            self.turn_soon()

    def close(self) -> None:
        """A clean stop: waiting requests are answered, and everything is on disk."""
        now, wall_ms = self.place.monotonic, self.place.wall_ms
        self.core.wind_down(now, wall_ms)
        self._turn()
        self.core.stored(self.state.store.close(now, wall_ms), now, wall_ms)
        self.decided = self._checks.known_lease
        for effect in self.core.take_effects():
            self._do(effect)
        for save in self.state.files.take_due(now, all_touched=True):
            self._files[save.file.value] = save.content

    def end(self, *, has_power: bool) -> None:
        """It is over: its callers and the peers that it called hear so, if the machine can still
        say it."""
        self.life.is_over = True
        if has_power:
            self.caller.hang_up_all()
        for channel in self._channels:
            if has_power:
                channel.close()
            channel.is_closing = True

    # ------------------------------------------------------------------ turns

    def turn_soon(self) -> None:
        if not self._is_turn_due:
            self._is_turn_due = True
            self.place.arrive(TURN_SECONDS, self._turn_now, self.life)

    def _turn_now(self) -> None:
        self.enter(self._turn)

    def _turn(self) -> None:
        self._is_turn_due = False
        now, wall_ms = self.place.monotonic, self.place.wall_ms
        self._is_masters_turn = self.epoch > 0
        self.core.turn(now, wall_ms)
        self.look_at_log()
        effects, decided = self.core.take_effects(), self._checks.known_lease
        pace = self._pace
        if pace.stalls and effects and self._random.random() < pace.stalls:
            self.place.pause(pace.stall_seconds * self._random.random())
            self.place.arrive(
                0.0, lambda: self.enter(lambda: self._finish_turn(effects, decided)), self.life
            )
        else:
            self._finish_turn(effects, decided)

    def look_at_log(self) -> None:
        """What is new in it."""
        end = self._log.end
        if end != self._log_end:
            self._log_end = end
            mirror = self._checks.mirror(self.key)
            self._checks.appended(self, mirror.follow(self._disk.memory, end))

    def _finish_turn(self, effects: list[Effect], decided: Lease | None) -> None:
        """Answers leave, then the member has its turn; `decided`: what the Lease said when they
        were."""
        self.decided = decided
        now, wall_ms = self.place.monotonic, self.place.wall_ms
        if self.epoch and not self._has_no_authority:
            self._checks.has_authority(self, now)
        for effect in effects:
            self._do(effect)
        replica, deadline = self.replica, self.core.deadline()
        if replica is not None:
            self.replica_turn(now, wall_ms)
            if self.life.is_over:
                return
            deadline = min(deadline, replica.deadline(now))
            if not self.state.effects.is_empty:
                self.turn_soon()
        self._disk_jobs.begin()
        self._wake_by(deadline, now)

    def replica_turn(self, now: float, wall_ms: int) -> None:
        """The member's."""
        assert self.replica is not None
        self.replica.turn(now, wall_ms)
        self.look_at_log()
        self._checks.knows(self)

    def _wake_by(self, deadline: float, now: float) -> None:
        if deadline <= now:
            self.turn_soon()
        elif deadline < self._wakes_at:
            self._wakes_at = deadline
            self.place.at(deadline, lambda: self._wake(deadline), self.life)

    def _wake(self, deadline: float) -> None:
        if deadline == self._wakes_at:
            self._wakes_at = NEVER
            self._turn_now()

    # ------------------------------------------------------------------ effects

    def _do(self, effect: Effect) -> None:
        if isinstance(effect, Replies):
            channel = _channel(effect.channel)
            if self._has_no_authority:  # what was taken as a master's may be answered later
                self._cut_off(channel)
                return
            for response in FrameReader(1 << 20, 1 << 16).decode(effect.frames):
                self._send(channel, RequestCode.SEND_MESSAGE_V2, response.opaque, response)
        elif isinstance(effect, Answer):
            channel = _channel(effect.request.channel)
            self._respond(channel, effect.request.command, effect.command)
        elif isinstance(effect, SaveFile):
            self._save(effect)
        elif isinstance(effect, CloseChannel):
            channel = _channel(effect.channel)
            channel.close()
            self._hung_up(channel)
        elif isinstance(effect, AskBroker):
            self._ask_broker(effect)
        elif isinstance(effect, AskClient | AskNameServers | AwaitRegistration):
            self._answer_later(effect.number)
        elif isinstance(effect, Register):
            self.register()
        elif isinstance(effect, LogLine):
            self._say(effect)
        else:
            assert isinstance(effect, Audit | Release | Spread | Tell), effect

    def _save(self, save: SaveFile) -> None:
        def written() -> None:
            now, wall_ms = self.place.monotonic, self.place.wall_ms
            self.core.written(save.file, None, now, wall_ms)
            self.turn_soon()

        self._disk_jobs.save(save, written)

    def _say(self, line: LogLine) -> None:
        if line.cause is not None and not isinstance(line.cause, DiskError):
            raise line.cause
        self.place.world.tell(f"{self.place.name} says: {line.text[:160]}")

    def _answer_later(self, number: int) -> None:
        def answer() -> None:
            self.core.client_answered(number, None, self.place.monotonic, self.place.wall_ms)
            self.turn_soon()

        self.place.after(0.01, lambda: self.enter(answer), self.life)

    def _ask_broker(self, effect: AskBroker) -> None:
        def answered(answer: Command | str) -> None:
            now, wall_ms = self.place.monotonic, self.place.wall_ms
            self.core.broker_answered(effect.number, answer, now, wall_ms)
            self.turn_soon()

        self.caller.ask(
            effect.address,
            effect.command,
            effect.timeout_seconds,
            lambda answer: self.enter(lambda: answered(answer)),
        )

    # ------------------------------------------------------------------ answers

    def _respond(self, channel: Channel, request: Command, response: Command) -> None:
        if request.is_oneway:
            return
        if request.code in _PULLS and response.code == ResponseCode.SUCCESS:
            self.look_at_log()
            self._checks.handed_out(self, response.body)
        if (
            request.code == RequestCode.UPDATE_AND_CREATE_TOPIC
            and response.code == ResponseCode.SUCCESS
        ):
            topic = CreateTopicRequest.decode(request.ext).topic
            self._checks.tables.created(topic)
        self._send(channel, request.code, request.opaque, response)

    def _send(self, channel: Channel, code: int, opaque: int, response: Command) -> None:
        if code in _SENDS:
            if self.is_cut_off():
                self._cut_off(channel)
                return
            if response.code == ResponseCode.SUCCESS:
                self._check_acknowledged(response)
        if not channel.is_closing:
            channel.respond(opaque, response)

    def is_cut_off(self) -> bool:
        """Whether a master's answers to sends may not leave any more, by a clock read just now."""
        return (self._is_masters_turn or self.epoch > 0) and self._has_no_authority

    @property
    def _has_no_authority(self) -> bool:
        replica = self.replica
        return replica is not None and self.place.monotonic >= replica.lease_deadline

    def _cut_off(self, channel: Channel) -> None:
        self.place.world.tally["answers without authority"] += 1
        channel.close()

    def _check_acknowledged(self, response: Command) -> None:
        told = SendMessageResponse.decode(response.ext)
        position = int(told.msg_id[-16:], 16)
        self._checks.acknowledged(self, position, told.queue_id, told.queue_offset)


def _channel(channel: object) -> Channel:
    assert isinstance(channel, Channel)
    return channel
