"""The broker as one value: requests, what the store, the clients and the files answer, and time go
in; outcomes and effects come out.

    feed(channel, data, start)      sends straight from a receive buffer
    handle(request) -> outcome      everything else
    turn()                          once a loop turn, and at `deadline`
    written(file, failure), client_answered(number, response), broker_answered(number, response),
    registered(name_server, told), closed(channel)
    take_effects()                  after each of them

Where a group elects its master, the broker changes its role meanwhile: `lead`, `pause`, `follow`,
and what travels with the log between members, `tables`, `take_table`.

Invariants: every request is answered once: by its outcome, or by an effect. The machines are asked
what they have to do whenever something may have changed for them, which a send that the kernel took
does only where its message is waited for: else the turn is spared that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final, final

from gantrymq.base.errors import GantryError, RemoteError
from gantrymq.base.memory_account import Kind, MemoryAccount
from gantrymq.broker.core import (
    access,
    commits,
    held_bytes,
    reserve_times,
    slaves,
    system_topics,
)
from gantrymq.broker.core.figures.requests import ONEWAY, UNKNOWN_CODE, RequestFigures
from gantrymq.broker.core.handler import Handler
from gantrymq.broker.core.machine import Machine, Reader
from gantrymq.broker.core.messages import (
    HELD,
    SILENT,
    Answer,
    Channel,
    CloseChannel,
    Effect,
    File,
    Held,
    Outcome,
    Replies,
    Reply,
    Request,
    Silent,
)
from gantrymq.broker.core.quotas.gate import carry_out_later
from gantrymq.broker.core.relays import SENDS
from gantrymq.broker.core.requests import REQUESTS
from gantrymq.broker.core.state import State
from gantrymq.broker.core.users import first_users
from gantrymq.remoting.refusal import failed, not_supported, overloaded
from gantrymq.store.engine import Store
from gantrymq.store.kernel import Fed
from gantrymq.store.turn import Turn
from gantrymq.wire import hosts
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import RegisterBrokerResponse

NEVER: Final = float("inf")

# What the kernel takes counts as this, the request that clients send most.
_KERNEL_CODE: Final = int(RequestCode.SEND_MESSAGE_V2)
_SUCCESS: Final = int(ResponseCode.SUCCESS)
_BUSY: Final = int(ResponseCode.SYSTEM_BUSY)

# Requests that wait for the store, a client or a file. Each connection is bounded by its session;
# this bounds all of them together.
WORKS_MAX: Final = 50_000

# Messages of one turn. Larger writes gain nothing, and what waits behind them waits longer.
GROUP_BYTES_MAX: Final = 8 << 20

# Some machines go by the calendar, which may be set back at any time.
LOOK_SECONDS: Final = 0.1

# The port two below the broker's serves everything but these, as Java's does.
FAST_LISTENER: Final = "fast"
_NOT_FAST: Final = frozenset(
    {
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.POP_MESSAGE,
        RequestCode.PEEK_MESSAGE,
        RequestCode.NOTIFICATION,
        RequestCode.POLLING_INFO,
    }
)


@final
class _Sends:
    """Sends of one read that the kernel took, from then to their answer."""

    __slots__ = ("channel", "count", "fed_at", "taken_bytes")

    def __init__(self, channel: Channel, count: int, taken_bytes: int, fed_at: float) -> None:
        self.channel: Channel = channel
        self.count: int = count
        self.taken_bytes: int = taken_bytes
        self.fed_at: float = fed_at


@final
class Broker:
    """The core. It owns the state; the assembly owns sockets, files and the clock."""

    __slots__ = (
        "_born_hosts",
        "_fed",
        "_figures",
        "_group_bytes_max",
        "_is_settled",
        "_log_moves",
        "_look_by",
        "_machines",
        "_machines_due",
        "_memory",
        "_readers",
        "_senders",
        "_store",
        "_topic_readers",
        "state",
    )

    def __init__(self, state: State, *, group_bytes_max: int = GROUP_BYTES_MAX) -> None:
        self.state = state
        self._group_bytes_max: int = group_bytes_max
        self._figures: RequestFigures = state.request_figures
        self._machines: Sequence[Machine] = state.machines
        self._readers: Sequence[Reader] = state.readers
        self._topic_readers: Mapping[str, Reader] = state.topic_readers
        self._store: Store = state.store
        self._fed: dict[int, _Sends] = {}
        self._memory: MemoryAccount = state.memory
        self._born_hosts: dict[Channel, bytes] = {}
        self._is_settled: bool = False
        """Whether nothing can have changed when the machines are due since they were asked."""
        self._machines_due: float = 0.0
        self._log_moves: bool = False
        """Whether that is what the next turn is for; then the machines need not be asked."""
        self._look_by: float = 0.0
        self._senders: dict[Channel, None] = {}
        state.works.dropped = self._dropped

    # ------------------------------------------------------------------ life

    @property
    def loaders(self) -> Mapping[File, Callable[[bytes], None]]:
        """What to hand the content of each file that a start finds, before `begin`."""
        state = self.state
        users = state.access.users
        return {
            **({} if users is None else {File.USERS: users.load}),
            File.TOPICS: state.topics.load,
            File.GROUPS: state.groups.load,
            File.OFFSETS: state.offsets.load,
            File.DELAYS: state.delays.load,
            File.TIMERS: state.timers.load,
            File.SETTINGS: state.configuration.load,
            File.FILTERS: state.filters.load,
            File.MODES: state.request_modes.load,
            File.POPS: state.pops.checkouts.load,
            File.MISSING: state.carried.load,
            File.QUOTAS: state.quotas.load,
        }

    def begin(self, now: float, wall_ms: int) -> None:
        """The store is open, and the files are loaded: from now on requests come."""
        state = self.state
        state.now, state.wall_ms = now, wall_ms
        if state.identity.is_master:
            commits.forget_lost(state)
        if state.identity.is_elected and (state.store.report.was_cut or state.store.log.is_empty):
            state.carried.lose()
        first_users.begin(state)
        system_topics.make_missing(state)
        state.timers.begin_anew()
        state.pops.begin()
        reserve_times.begin(state)
        state.quick_sends.open()

    def wind_down(self, now: float, wall_ms: int) -> None:
        """The broker stops: whoever waits for a message to come is answered without one."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms
        self.state.holds.close()
        self.state.pops.wind_down()

    def quotas_edited(self, content: bytes) -> None:
        """An administrator changed the file of quotas; RemoteError where it cannot be used."""
        self._is_settled = False
        self.state.quotas.edited(content)

    # ------------------------------------------------------------------ roles

    def lead(self, epoch: int, now: float, wall_ms: int) -> None:
        """We are the master from now on."""
        state = self._begin_call(now, wall_ms)
        parked = state.relays.take_parked()
        state.reign.lead(epoch)
        self._carry_out_parked(parked)

    def pause(self, now: float, wall_ms: int, *, is_paused: bool) -> None:
        """Take no sends, while those that were taken are still acknowledged; or go on."""
        state = self._begin_call(now, wall_ms)
        state.reign.pause(is_paused=is_paused)
        if not is_paused:
            self._carry_out_parked(state.relays.take_parked())

    def _carry_out_parked(self, parked: Sequence[Request]) -> None:
        state = self.state
        for request in parked:
            outcome = self.handle(request, state.now, state.wall_ms)
            if isinstance(outcome, Reply):
                state.effects.answer(request, outcome.command)
            elif isinstance(outcome, Silent):
                state.effects.release(request)

    def follow(self, now: float, wall_ms: int) -> None:
        """We are not the master any more: nothing is appended from this call on. Who was sending
        is cut off, before anybody is told of what was not stored for good. Who waits for another
        master's answer alone stays for that, but not where an answer of ours is on its way too.
        Where all was handed over and nobody waits for us, who can be led is led (relays, strays):
        a client of Java may lose what is under way on a connection that breaks."""
        state = self._begin_call(now, wall_ms)
        effects, relays = state.effects, state.relays
        undone = effects.take()
        told = {channel for channel in map(_told_of_a_send, undone) if channel is not None}
        is_done = state.reign.is_paused and not self._fed and self._store.waiters.is_empty
        for channel in {**self._born_hosts, **self._senders}:
            stays = relays.holds(channel) or (is_done and relays.leads(channel))
            if channel in told or not stays:
                effects.add(CloseChannel(channel, "this broker is not master any more"))
        for effect in undone:
            effects.add(effect)
        self._senders.clear()
        state.reign.follow()

    def master_is(self, address: str, now: float, wall_ms: int) -> None:
        """Where the master takes requests; "" where nobody is."""
        self._begin_call(now, wall_ms).reign.master_is(address)

    def tables(self) -> Mapping[str, bytes]:
        """All that travels with the log, by name."""
        return self.state.carried.tables()

    def take_table(self, name: str, content: bytes, now: float, wall_ms: int) -> None:
        """Be as the master's; `unstored_tables` says which are not on disk yet."""
        self._begin_call(now, wall_ms).carried.take(name, content)

    @property
    def unstored_tables(self) -> AbstractSet[str]:
        """Of those that were taken."""
        return self.state.carried.unstored

    @property
    def may_lead(self) -> bool:
        """Whether its tables are those that its log goes with."""
        return self._store.log.is_empty or not self.state.carried.missing

    def _begin_call(self, now: float, wall_ms: int) -> State:
        self._is_settled = False
        state = self.state
        state.now, state.wall_ms = now, wall_ms
        return state

    # ------------------------------------------------------------------ requests

    def feed(
        self, channel: Channel, data: bytes, start: int, now: float, wall_ms: int
    ) -> tuple[int, int]:
        """Take the sends from data[start] on: where the first frame begins that was not taken, and
        how many were.

        Fed sends come before everything that was put in a turn, so none is taken behind a put: one
        connection's messages keep their order.
        """
        state = self.state
        kernel = state.kernel
        is_busy = state.admission.refusal(state.settings) is not None
        if kernel is None or state.works.has_new_puts or is_busy:
            return start, 0  # the general path says why
        if state.quotas.is_on and state.quotas.gate.refuses_read(channel, now):
            return start, 0
        born_host = self._born_hosts.get(channel)
        if born_host is None:
            born_host = self._born_hosts[channel] = hosts.parse(channel.peer)
        fed = self._store.feed(kernel, data, start, born_host, wall_ms)
        if fed.count:
            self._log_moves = True
            self._fed[fed.number] = _Sends(channel, fed.count, fed.at - start, now)
            state.admission.begin(now)
            if state.quotas.is_on:
                self._charge(channel, fed, fed.at - start, now)
            self._write_if_much(now, wall_ms)
        return fed.at, fed.count

    def _charge(self, channel: Channel, fed: Fed, frames_bytes: int, now: float) -> None:
        """Charge a read that the kernel took to the quotas of its address and topics."""
        quotas = self.state.quotas
        sizes = self._store.sizes_of(fed) if quotas.has_topics else []
        quotas.fed(channel, fed.count, frames_bytes, sizes, now)

    def _write_if_much(self, now: float, wall_ms: int) -> None:
        """A turn's group lies in memory: beyond the bound it is written at once."""
        if self._store.waiting_bytes >= self._group_bytes_max:
            self.turn(now, wall_ms)

    def handle(self, request: Request, now: float, wall_ms: int) -> Outcome:
        """Carry out one request."""
        self._is_settled = False
        state = self.state
        state.now, state.wall_ms = now, wall_ms
        code = request.command.code
        handler = REQUESTS.get(code)
        is_fast = request.channel.listener == FAST_LISTENER
        if handler is None or (is_fast and code in _NOT_FAST):
            return self._counted(request, Reply(not_supported(code)), UNKNOWN_CODE)
        refusal = access.refuse(state, request) or slaves.refuse(state, request)
        if refusal is not None:
            if state.quotas.is_on:
                state.quotas.gate.note_denied(request)
            return self._counted(request, refusal, code)
        if state.identity.is_elected and code in SENDS:
            if state.relays.wants(request):
                return state.relays.take(request)
            self._senders[request.channel] = None
        admitted = self._admitted(request, handler)
        if isinstance(admitted, Reply):
            return self._counted(request, admitted, code)
        try:
            outcome = admitted(state, request)
        except RemoteError as error:
            outcome = Reply(failed(str(error)))
        if isinstance(outcome, (Reply, Held, Silent)):
            return self._counted(request, outcome, code)
        kept_bytes = held_bytes.kept_of(request)
        if kept_bytes:
            self._memory.add(request.channel, Kind.BODIES, kept_bytes)
        state.works.start(
            outcome,
            lambda result: self._worked(request, result, now),
            lambda error: self._broke(request, error, now),
            request,
        )
        if request.command.body:
            self._write_if_much(now, wall_ms)
        return HELD

    def _admitted(self, request: Request, handler: Handler) -> Handler | Reply:
        """What carries the request out, now or when its quota allows; or why nothing does."""
        state = self.state
        if state.quotas.is_on:
            admitted = state.quotas.gate.admit(request)
            if isinstance(admitted, Reply):
                return admitted
            if admitted is not None:
                handler = partial(carry_out_later, handler=handler, hold=admitted)
        if len(state.works) >= WORKS_MAX:
            return Reply(overloaded("the store", 0))
        kept_bytes = held_bytes.kept_of(request)
        if kept_bytes:
            overrun = self._memory.overrun(request.channel, Kind.BODIES, kept_bytes)
            if overrun is not None:
                return Reply(held_bytes.no_room_for_bodies(overrun.text))
        return handler

    def _worked(self, request: Request, outcome: object, began: float) -> None:
        """A request that was carried out in steps has its outcome."""
        self._give_back(request)
        if isinstance(outcome, Reply):
            self._counted(request, outcome, request.command.code, self.state.now - began)
            self.state.effects.answer(request, outcome.command)
        elif outcome is SILENT:
            self.state.effects.release(request)
        else:
            assert outcome is HELD, f"{outcome!r} is no outcome"

    def _give_back(self, request: Request) -> None:
        """The request is not needed any more."""
        kept_bytes = held_bytes.kept_of(request)
        if kept_bytes:
            self._memory.add(request.channel, Kind.BODIES, -kept_bytes)

    def _broke(self, request: Request, error: Exception, began: float) -> None:
        self._give_back(request)
        code = request.command.code
        if not isinstance(error, GantryError):
            self.state.effects.broken(f"a request of code {code} broke its handler", error)
        text = str(error) if isinstance(error, RemoteError) else f"{type(error).__name__}: {error}"
        reply = Reply(failed(text))
        self._counted(request, reply, code, self.state.now - began)
        self.state.effects.answer(request, reply.command)

    def _dropped(self, request: Request) -> None:
        """A request that only reads was given up, for its connection ended."""
        self._give_back(request)
        self.state.effects.release(request)

    def _counted(
        self, request: Request, outcome: Outcome, code: int, seconds: float = 0.0
    ) -> Outcome:
        if isinstance(outcome, Reply):
            answer = outcome.command
            if answer.code == _BUSY:
                self._figures.note_refusal(answer.remark)
            if request.command.is_oneway:
                self._figures.note(code, answer.code, seconds, ONEWAY)
                return SILENT
            self._figures.note(code, answer.code, seconds)
        return outcome

    # ------------------------------------------------------------------ time and answers

    def log_moves(self) -> None:
        """A copy came into our log, or somebody said what it has of it; of all else that was said
        we were told. A turn comes soon."""
        self._log_moves = True

    def turn(self, now: float, wall_ms: int) -> None:
        """Everything there is to do; SyncFailedError ends the process."""
        state = self.state
        state.now, state.wall_ms = now, wall_ms
        state.works.has_new_puts = False
        if not self._log_moves:
            self._is_settled = False
        self._log_moves = False
        turn = self._store.turn(now, wall_ms)
        state.admission.appended(now, state.settings)
        self._take_answers(turn, now)
        if turn.arrived:
            self._arrived(turn.arrived)
        if not self._is_settled or now >= self._look_by:
            self._look(now)

    def _arrived(self, queues: Sequence[tuple[str, int]]) -> None:
        """Consumers find more in these queues than before."""
        for reader in self._readers:
            if reader.arrived(queues):
                self._is_settled = False
        for queue in queues:
            reader_of_it = self._topic_readers.get(queue[0])
            if reader_of_it is not None and reader_of_it.arrived([queue]):
                self._is_settled = False

    def _look(self, now: float) -> None:
        """Have the works and machines do what is due, and begin the writes that are."""
        state = self.state
        is_settled = state.works.deadline() > now
        state.works.expire(now)
        stalls, began = state.stalls, state.stalls.now()
        due = NEVER
        for machine in self._machines:
            deadline = machine.deadline()
            if deadline <= now:
                machine.expire(now)
                began = stalls.ended(began, type(machine).__name__)
                is_settled = False  # what it did may be for another one to go on with
            elif deadline < due:
                due = deadline
        for save in state.files.take_due(now):
            state.effects.add(save)
        stalls.ended(began, "contents of files to save")
        self._machines_due = min(due, state.works.deadline(), state.files.deadline())
        self._look_by = min(self._machines_due, now + LOOK_SECONDS)
        self._is_settled = is_settled

    def stored(self, turn: Turn, now: float, wall_ms: int) -> None:
        """What the store answered when it was closed."""
        self.state.now, self.state.wall_ms = now, wall_ms
        self._take_answers(turn, now)

    def _take_answers(self, turn: Turn, now: float) -> None:
        works = self.state.works
        for answer in turn.answers:
            sends = self._fed.pop(answer.number, None)
            if sends is not None:
                self._reply(sends, answer.replies, now)
            else:
                self._is_settled = False
                works.put_answered(answer)
        for finished in turn.readings:
            self._is_settled = False
            works.reading_finished(finished)

    def _reply(self, sends: _Sends, replies: bytes, now: float) -> None:
        state = self.state
        state.admission.end(sends.fed_at, now, sends.count)
        self._figures.note(_KERNEL_CODE, _SUCCESS, now - sends.fed_at, times=sends.count)
        state.effects.add(Replies(sends.channel, sends.count, sends.taken_bytes, replies))

    def deadline(self) -> float:
        """When `turn` has something to do, if nothing happens before."""
        if self._is_settled:
            return min(self._store.deadline(), self._machines_due)
        state = self.state
        deadlines = [machine.deadline() for machine in self._machines]
        deadlines += (self._store.deadline(), state.works.deadline(), state.files.deadline())
        return min(deadlines)

    def written(self, file: File, failure: str | None, now: float, wall_ms: int) -> None:
        """A write ended; `failure` says why the file is as before."""
        self._is_settled = False
        state = self.state
        state.now, state.wall_ms = now, wall_ms
        if failure is not None:
            state.effects.warning(f"{file.value} could not be written, {failure}")
        state.works.written(file, failure)

    def client_answered(
        self, number: int, response: Command | None, now: float, wall_ms: int
    ) -> None:
        """A client answered our question, or did not in time."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms
        self.state.works.client_answered(number, response)

    def broker_answered(self, number: int, answer: Command | str, now: float, wall_ms: int) -> None:
        """Another broker answered our question, or why it did not."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms
        self.state.works.broker_answered(number, answer)

    def registered(
        self, name_server: str, told: RegisterBrokerResponse, now: float, wall_ms: int
    ) -> None:
        """A name server knows us, and says who our master is."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms
        self.state.following.told(name_server, told)

    def closed(self, channel: Channel, now: float, wall_ms: int) -> None:
        """A connection ended."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms
        self._born_hosts.pop(channel, None)
        self._senders.pop(channel, None)
        self.state.access.throttle.closed(channel)
        self.state.works.closed(channel)
        for machine in self._machines:
            machine.closed(channel)

    def take_effects(self) -> list[Effect]:
        """What has to be done now, in order."""
        return self.state.effects.take()


def _told_of_a_send(effect: Effect) -> Channel | None:
    """The connection whose client this tells what became of a send."""
    if isinstance(effect, Replies):
        return effect.channel
    if isinstance(effect, Answer) and effect.request.command.code in SENDS:
        return effect.request.channel
    return None
