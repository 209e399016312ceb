"""The broker core: turns requests, I/O results and time into outcomes and effects, without I/O.

The host calls it, and carries out the effects:

    feed(channel, data, start)      plain sends, straight from a receive buffer
    handle(request) -> outcome      every other request
    turn()                          once a turn of the event loop, and at `deadline`
    written(file, failure), client_answered(number, response), broker_answered(number, response),
    registered(name_server, told), closed(channel)
                                    results of effects, and closed connections
    take_effects()                  after each of the calls above

In a group that elects its master, the host also changes the broker's role (`lead`, `pause`,
`follow`) and replicates the tables that travel with the log (`tables`, `take_table`).

Invariants: every request is answered exactly once, by its outcome or by an effect. The core asks
the periodic services for their deadlines whenever their state may have changed. A send that the
kernel took changes it only if a consumer or service waits for the message; otherwise the turn skips
the services.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import GantryError, RemoteError
from gantrymq.base.memory_account import Kind, MemoryAccount
from gantrymq.broker.core.acl import checks, first_users
from gantrymq.broker.core.engine import waiting_request_memory
from gantrymq.broker.core.engine.periodic_service import ArrivalListener, PeriodicService
from gantrymq.broker.core.figures.requests import ONEWAY, UNKNOWN_CODE, RequestFigures
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
from gantrymq.broker.core.metadata import reserve_times, system_topic_creation
from gantrymq.broker.core.processor.handler import Handler, carry_out_later
from gantrymq.broker.core.processor.requests import handlers_by_code
from gantrymq.broker.core.pull import commits
from gantrymq.broker.core.replication import slave_refusals
from gantrymq.broker.core.send.send_forwarder import SENDS
from gantrymq.broker.core.services import Services
from gantrymq.broker.core.state import State
from gantrymq.remoting.refusal import failed, not_supported, overloaded
from gantrymq.store.append.kernel import Fed
from gantrymq.store.engine import Store
from gantrymq.store.turn import Turn
from gantrymq.wire import hosts
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import RegisterBrokerResponse

# Metrics count sends that the kernel takes under this code, which clients use most.
_KERNEL_CODE: Final = int(RequestCode.SEND_MESSAGE_V2)
_SUCCESS: Final = int(ResponseCode.SUCCESS)
_BUSY: Final = int(ResponseCode.SYSTEM_BUSY)

# Limit of requests that wait for the store, a client or a file, over all connections. The session
# of each connection has its own limit.
WORKS_MAX: Final = 50_000

# Limit of the messages that one turn writes. Larger writes are no faster, and delay later requests.
GROUP_BYTES_MAX: Final = 8 << 20

# The longest time between two checks of all services: some use the wall clock, which may be set
# back at any time.
LOOK_SECONDS: Final = 0.1

# The listener two ports below the broker's refuses the request codes below, as in RocketMQ.
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
    """Sends that the kernel took from one read, kept until they are answered."""

    __slots__ = ("channel", "count", "fed_at", "taken_bytes")

    def __init__(self, channel: Channel, count: int, taken_bytes: int, fed_at: float) -> None:
        self.channel: Channel = channel
        self.count: int = count
        self.taken_bytes: int = taken_bytes
        self.fed_at: float = fed_at


@final
class Broker:
    """The core of one broker. It owns the state; the host owns sockets, files and the clock."""

    __slots__ = (
        "_born_hosts",
        "_fed",
        "_figures",
        "_group_bytes_max",
        "_handlers",
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
        "services",
        "state",
    )

    def __init__(self, state: State, *, group_bytes_max: int = GROUP_BYTES_MAX) -> None:
        self.state = state
        self.services: Services = Services(state)
        self._handlers: dict[int, Handler] = handlers_by_code(self.services)
        self._group_bytes_max: int = group_bytes_max
        self._figures: RequestFigures = state.request_figures
        self._machines: Sequence[PeriodicService] = self.services.periodic
        self._readers: Sequence[ArrivalListener] = self.services.arrival_listeners
        self._topic_readers: Mapping[str, ArrivalListener] = self.services.topic_listeners
        self._store: Store = state.store
        self._fed: dict[int, _Sends] = {}
        self._memory: MemoryAccount = state.memory
        self._born_hosts: dict[Channel, bytes] = {}
        self._is_settled: bool = False
        """Whether no service's deadline can have changed since the services were last asked."""
        self._machines_due: float = 0.0
        self._log_moves: bool = False
        """Whether the next turn has only log writes to do: it need not ask the services."""
        self._look_by: float = 0.0
        self._senders: dict[Channel, None] = {}
        state.task_runner.dropped = self._dropped

    # ------------------------------------------------------------------ life

    @property
    def loaders(self) -> Mapping[File, Callable[[bytes], None]]:
        """The function that loads the content of each configuration file, to call before
        `begin`."""
        state, services = self.state, self.services
        users = state.access.users
        return {
            **({} if users is None else {File.USERS: users.load}),
            File.TOPICS: state.topics.load,
            File.GROUPS: state.groups.load,
            File.OFFSETS: state.offsets.load,
            File.DELAYS: services.delay_service.load,
            File.TIMERS: services.timer_service.load,
            File.SETTINGS: state.configuration.load,
            File.FILTERS: state.filters.load,
            File.MODES: state.request_modes.load,
            File.POPS: state.in_flight.load,
            File.MISSING: services.metadata_replication.load,
            File.QUOTAS: state.quotas.load,
        }

    def begin(self, now: float, wall_ms: int) -> None:
        """Prepare for requests, once the store is open and the files are loaded."""
        state, services = self.state, self.services
        state.now, state.wall_ms = now, wall_ms
        if state.identity.is_master:
            commits.forget_lost(state)
        if state.identity.is_elected and (
            state.store.report.was_truncated or state.store.log.is_empty
        ):
            services.metadata_replication.lose()
        first_users.begin(state)
        system_topic_creation.make_missing(state)
        services.timer_service.begin_anew()
        services.pops.begin()
        reserve_times.begin(state)
        services.kernel_eligibility.open()

    def wind_down(self, now: float, wall_ms: int) -> None:
        """Answer all held pulls and pops without messages, because the broker is stopping."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms
        self.services.pull_request_hold.close()
        self.services.pops.wind_down()

    def quotas_edited(self, content: bytes) -> None:
        """Apply the quota file that an administrator edited; RemoteError if it is invalid."""
        self._is_settled = False
        self.state.quotas.edited(content)

    # ------------------------------------------------------------------ roles

    def lead(self, epoch: int, now: float, wall_ms: int) -> None:
        """Become the master of this epoch, and carry out the parked sends."""
        self._begin_call(now, wall_ms)
        parked = self.services.send_forwarder.take_parked()
        self.services.role_controller.lead(epoch)
        self._carry_out_parked(parked)

    def pause(self, now: float, wall_ms: int, *, is_paused: bool) -> None:
        """Stop or resume taking sends. Sends taken before a pause are still acknowledged."""
        self._begin_call(now, wall_ms)
        self.services.role_controller.pause(is_paused=is_paused)
        if not is_paused:
            self._carry_out_parked(self.services.send_forwarder.take_parked())

    def _carry_out_parked(self, parked: Sequence[Request]) -> None:
        state = self.state
        for request in parked:
            outcome = self.handle(request, state.now, state.wall_ms)
            if isinstance(outcome, Reply):
                state.effects.answer(request, outcome.command)
            elif isinstance(outcome, Silent):
                state.effects.release(request)

    def follow(self, now: float, wall_ms: int) -> None:
        """Stop being the master: the broker appends nothing from this call on.

        The connections of producers are closed before the pending answers are sent, so that no
        producer receives an answer to a send that may not be persisted. A connection stays open if
        it waits only for the new master's answer to a forwarded send. After a complete handover
        (paused, with no send unanswered), clients that understand GO_AWAY are redirected instead of
        disconnected: Java clients may lose requests on a connection that breaks.
        """
        state = self._begin_call(now, wall_ms)
        effects, forwarder = state.effects, self.services.send_forwarder
        undone = effects.take()
        told = {channel for channel in map(_told_of_a_send, undone) if channel is not None}
        is_done = state.is_paused and not self._fed and self._store.waiters.is_empty
        for channel in {**self._born_hosts, **self._senders}:
            stays = forwarder.holds(channel) or (is_done and forwarder.leads(channel))
            if channel in told or not stays:
                effects.add(CloseChannel(channel, "this broker is not master any more"))
        for effect in undone:
            effects.add(effect)
        self._senders.clear()
        self.services.role_controller.follow()

    def master_is(self, address: str, now: float, wall_ms: int) -> None:
        """Set the address at which the master takes requests; "" if there is no master."""
        self._begin_call(now, wall_ms)
        self.services.role_controller.master_is(address)

    def tables(self) -> Mapping[str, bytes]:
        """The tables that are replicated with the log, by name."""
        return self.services.metadata_replication.tables()

    def take_table(self, name: str, content: bytes, now: float, wall_ms: int) -> None:
        """Replace a table by the master's; `unstored_tables` names those not on disk yet."""
        self._begin_call(now, wall_ms)
        self.services.metadata_replication.take(name, content)

    @property
    def unstored_tables(self) -> AbstractSet[str]:
        """The names of the tables that were taken and are not on disk yet."""
        return self.services.metadata_replication.unstored

    @property
    def may_lead(self) -> bool:
        """Whether the tables match the log: an empty log, or no table is missing."""
        return self._store.log.is_empty or not self.services.metadata_replication.missing

    def _begin_call(self, now: float, wall_ms: int) -> State:
        self._is_settled = False
        state = self.state
        state.now, state.wall_ms = now, wall_ms
        return state

    # ------------------------------------------------------------------ requests

    def feed(
        self, channel: Channel, data: bytes, start: int, now: float, wall_ms: int
    ) -> tuple[int, int]:
        """Let the kernel take plain sends from data[start] on. Returns the position of the first
        frame that it did not take, and the number of sends that it took.

        A turn appends sends of the kernel before the messages of other requests. So the kernel
        takes none once the turn has such a message: the messages of a connection keep their order.
        """
        state = self.state
        kernel = state.kernel
        is_busy = state.admission.refusal(state.settings) is not None
        if kernel is None or state.task_runner.has_new_puts or is_busy:
            return start, 0  # `handle` refuses or queues them
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
        """Charge the sends of one read to the quotas of their address and topics."""
        quotas = self.state.quotas
        sizes = self._store.sizes_of(fed) if quotas.has_topics else []
        quotas.fed(channel, fed.count, frames_bytes, sizes, now)

    def _write_if_much(self, now: float, wall_ms: int) -> None:
        """Run a turn at once if the messages that wait in memory exceed the limit."""
        if self._store.waiting_bytes >= self._group_bytes_max:
            self.turn(now, wall_ms)

    def handle(self, request: Request, now: float, wall_ms: int) -> Outcome:
        """Carry out one request, or start the task that does."""
        self._is_settled = False
        state = self.state
        state.now, state.wall_ms = now, wall_ms
        code = request.command.code
        handler = self._handlers.get(code)
        is_fast = request.channel.listener == FAST_LISTENER
        if handler is None or (is_fast and code in _NOT_FAST):
            return self._counted(request, Reply(not_supported(code)), UNKNOWN_CODE)
        refusal = checks.refuse(state, request) or slave_refusals.refuse(state, request)
        if refusal is not None:
            if state.quotas.is_on:
                state.quotas.gate.note_denied(request)
            return self._counted(request, refusal, code)
        if state.identity.is_elected and code in SENDS:
            forwarder = self.services.send_forwarder
            if forwarder.wants(request):
                return forwarder.take(request)
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
        kept_bytes = waiting_request_memory.kept_of(request)
        if kept_bytes:
            self._memory.add(request.channel, Kind.BODIES, kept_bytes)
        state.task_runner.start(
            outcome,
            lambda result: self._worked(request, result, now),
            lambda error: self._broke(request, error, now),
            request,
        )
        if request.command.body:
            self._write_if_much(now, wall_ms)
        return HELD

    def _admitted(self, request: Request, handler: Handler) -> Handler | Reply:
        """The handler of the request, delayed if its quota says so; or the refusal."""
        state = self.state
        if state.quotas.is_on:
            admitted = state.quotas.gate.admit(request)
            if isinstance(admitted, Reply):
                return admitted
            if admitted is not None:
                handler = partial(carry_out_later, handler=handler, hold=admitted)
        if len(state.task_runner) >= WORKS_MAX:
            return Reply(overloaded("the store", 0))
        kept_bytes = waiting_request_memory.kept_of(request)
        if kept_bytes:
            overrun = self._memory.overrun(request.channel, Kind.BODIES, kept_bytes)
            if overrun is not None:
                return Reply(waiting_request_memory.no_room_for_bodies(overrun.text))
        return handler

    def _worked(self, request: Request, outcome: object, began: float) -> None:
        """Answer a request whose task has ended."""
        self._give_back(request)
        if isinstance(outcome, Reply):
            self._counted(request, outcome, request.command.code, self.state.now - began)
            self.state.effects.answer(request, outcome.command)
        elif outcome is SILENT:
            self.state.effects.release(request)
        else:
            assert outcome is HELD, f"{outcome!r} is no outcome"

    def _give_back(self, request: Request) -> None:
        """Release the memory charged for the request."""
        kept_bytes = waiting_request_memory.kept_of(request)
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
        """Release a read-only request that was cancelled because its connection closed."""
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
        """Note that replication changed the log or a follower's acknowledged position, and nothing
        else. The host runs a turn soon."""
        self._log_moves = True

    def turn(self, now: float, wall_ms: int) -> None:
        """Run the store and everything that is due. SyncFailedError must end the process."""
        state = self.state
        state.now, state.wall_ms = now, wall_ms
        state.task_runner.has_new_puts = False
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
        """Notify the arrival listeners that consumers can read more of these queues."""
        for reader in self._readers:
            if reader.arrived(queues):
                self._is_settled = False
        for queue in queues:
            reader_of_it = self._topic_readers.get(queue[0])
            if reader_of_it is not None and reader_of_it.arrived([queue]):
                self._is_settled = False

    def _look(self, now: float) -> None:
        """Run the tasks and services that are due, and begin the file writes that are due."""
        state = self.state
        is_settled = state.task_runner.deadline() > now
        state.task_runner.expire(now)
        stalls, began = state.stalls, state.stalls.now()
        due = NEVER
        for machine in self._machines:
            deadline = machine.deadline()
            if deadline <= now:
                machine.expire(now)
                began = stalls.ended(began, type(machine).__name__)
                is_settled = False  # its work may have changed another service's deadline
            elif deadline < due:
                due = deadline
        for save in state.files.take_due(now):
            state.effects.add(save)
        stalls.ended(began, "contents of files to save")
        self._machines_due = min(due, state.task_runner.deadline(), state.files.deadline())
        self._look_by = min(self._machines_due, now + LOOK_SECONDS)
        self._is_settled = is_settled

    def stored(self, turn: Turn, now: float, wall_ms: int) -> None:
        """What the store answered when it was closed."""
        self.state.now, self.state.wall_ms = now, wall_ms
        self._take_answers(turn, now)

    def _take_answers(self, turn: Turn, now: float) -> None:
        works = self.state.task_runner
        for answer in turn.answers:
            sends = self._fed.pop(answer.number, None)
            if sends is not None:
                self._reply(sends, answer.replies, now)
            else:
                self._is_settled = False
                works.put_answered(answer)
        for finished in turn.finished_reads:
            self._is_settled = False
            works.reading_finished(finished)

    def _reply(self, sends: _Sends, replies: bytes, now: float) -> None:
        state = self.state
        state.admission.end(sends.fed_at, now, sends.count)
        self._figures.note(_KERNEL_CODE, _SUCCESS, now - sends.fed_at, times=sends.count)
        state.effects.add(Replies(sends.channel, sends.count, sends.taken_bytes, replies))

    def deadline(self) -> float:
        """When `turn` has something to do, unless another call comes first."""
        if self._is_settled:
            return min(self._store.deadline(), self._machines_due)
        state = self.state
        deadlines = [machine.deadline() for machine in self._machines]
        deadlines += (self._store.deadline(), state.task_runner.deadline(), state.files.deadline())
        return min(deadlines)

    def written(self, file: File, failure: str | None, now: float, wall_ms: int) -> None:
        """A file write ended; `failure` says why the file is unchanged, None if it succeeded."""
        self._is_settled = False
        state = self.state
        state.now, state.wall_ms = now, wall_ms
        if failure is not None:
            state.effects.warning(f"{file.value} could not be written, {failure}")
        state.task_runner.written(file, failure)

    def client_answered(
        self, number: int, response: Command | None, now: float, wall_ms: int
    ) -> None:
        """A client answered a request of the broker; `response` is None after a timeout."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms
        self.state.task_runner.client_answered(number, response)

    def broker_answered(self, number: int, answer: Command | str, now: float, wall_ms: int) -> None:
        """Another broker answered a request of this broker, or `answer` says why it did not."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms
        self.state.task_runner.broker_answered(number, answer)

    def registered(
        self, name_server: str, told: RegisterBrokerResponse, now: float, wall_ms: int
    ) -> None:
        """A name server accepted the registration, and says which broker is the master."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms
        self.services.master_addresses.told(name_server, told)

    def closed(self, channel: Channel, now: float, wall_ms: int) -> None:
        """A connection closed."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms
        self._born_hosts.pop(channel, None)
        self._senders.pop(channel, None)
        self.state.access.throttle.closed(channel)
        self.state.task_runner.closed(channel)
        for machine in self._machines:
            machine.closed(channel)

    def take_effects(self) -> list[Effect]:
        """The effects that are pending, in order; each is returned once."""
        return self.state.effects.take()


def _told_of_a_send(effect: Effect) -> Channel | None:
    """The connection to which the effect sends the answer to a send; None for other effects."""
    if isinstance(effect, Replies):
        return effect.channel
    if isinstance(effect, Answer) and effect.request.command.code in SENDS:
        return effect.request.channel
    return None
