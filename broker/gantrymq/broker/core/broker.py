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

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core import startup
from gantrymq.broker.core.acl import checks
from gantrymq.broker.core.engine.service_schedule import ServiceSchedule
from gantrymq.broker.core.figures.requests import UNKNOWN_CODE, RequestFigures
from gantrymq.broker.core.messages import (
    ANSWERED_LATER,
    AnsweredLater,
    Channel,
    Effect,
    File,
    Outcome,
    Replies,
    Reply,
    Request,
    Silent,
)
from gantrymq.broker.core.processor.handler import Handler
from gantrymq.broker.core.processor.requests import handlers_by_code, handlers_of_fast_listener
from gantrymq.broker.core.replication import slave_refusals
from gantrymq.broker.core.request_outcomes import RequestOutcomes
from gantrymq.broker.core.send.send_forwarder import SENDS, SendForwarder
from gantrymq.broker.core.services import Services
from gantrymq.broker.core.state import State
from gantrymq.remoting.refusal import failed, not_supported
from gantrymq.store.append.kernel import Fed
from gantrymq.store.engine import Store
from gantrymq.store.turn_result import TurnResult
from gantrymq.wire import hosts
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import RegisterBrokerResponse

# Metrics count sends that the kernel takes under this code, which clients use most.
_KERNEL_CODE: Final = int(RequestCode.SEND_MESSAGE_V2)
_SUCCESS: Final = int(ResponseCode.SUCCESS)

# Limit of the messages that one turn writes. Larger writes are no faster, and delay later requests.
GROUP_BYTES_MAX: Final = 8 << 20

# The longest time between two checks of all services: some use the wall clock, which may be set
# back at any time.
CHECK_SECONDS: Final = 0.1

# The listener two ports below the broker's, which refuses some requests.
FAST_LISTENER: Final = "fast"


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
        "_check_by",
        "_fast_handlers",
        "_fed",
        "_figures",
        "_forwarder",
        "_group_bytes_max",
        "_handlers",
        "_is_settled",
        "_log_moves",
        "_outcomes",
        "_schedule",
        "_senders",
        "_services_due",
        "_store",
        "services",
        "state",
    )

    def __init__(self, state: State, *, group_bytes_max: int = GROUP_BYTES_MAX) -> None:
        self.state = state
        self.services: Services = Services(state)
        self._forwarder: SendForwarder = self.services.send_forwarder
        self._handlers: dict[int, Handler] = handlers_by_code(self.services)
        self._fast_handlers: dict[int, Handler] = handlers_of_fast_listener(self._handlers)
        self._group_bytes_max: int = group_bytes_max
        self._figures: RequestFigures = state.request_figures
        self._schedule: ServiceSchedule = self.services.schedule()
        self._store: Store = state.store
        self._outcomes: RequestOutcomes = RequestOutcomes(state)
        self._fed: dict[int, _Sends] = {}
        self._born_hosts: dict[Channel, bytes] = {}
        self._is_settled: bool = False
        """Whether no service's deadline can have changed since the services were last asked."""
        self._services_due: float = 0.0
        self._log_moves: bool = False
        """Whether the next turn has only log writes to do: it need not ask the services."""
        self._check_by: float = 0.0
        self._senders: dict[Channel, None] = {}

    # ------------------------------------------------------------------ life

    @property
    def loaders(self) -> Mapping[File, Callable[[bytes], None]]:
        """The function that loads the content of each configuration file, to call before
        `begin`."""
        return startup.loaders(self.state, self.services)

    def begin(self, now: float, wall_ms: int) -> None:
        """Prepare for requests, once the store is open and the files are loaded."""
        state = self.state
        state.now, state.wall_ms = now, wall_ms
        startup.begin(state, self.services)

    def wind_down(self, now: float, wall_ms: int) -> None:
        """Answer all held pulls and pops without messages, because the broker is stopping."""
        self._begin_call(now, wall_ms)
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
        parked = self._forwarder.take_parked()
        self.services.role_controller.lead(epoch)
        self._forwarder.carry_out(parked, self.handle)

    def pause(self, now: float, wall_ms: int, *, is_paused: bool) -> None:
        """Stop or resume taking sends. Sends taken before a pause are still acknowledged."""
        self._begin_call(now, wall_ms)
        self.services.role_controller.pause(is_paused=is_paused)
        if not is_paused:
            self._forwarder.carry_out(self._forwarder.take_parked(), self.handle)

    def follow(self, now: float, wall_ms: int) -> None:
        """Stop being the master: the broker appends nothing from this call on.

        The connections of producers are closed before the pending answers are sent, so that no
        producer receives an answer to a send that may not be persisted. A connection stays open if
        it waits only for the new master's answer to a forwarded send. After a complete handover
        (paused, with no send unanswered), clients that understand GO_AWAY are redirected instead of
        disconnected: Java clients may lose requests on a connection that breaks.
        """
        self._begin_call(now, wall_ms)
        is_complete = self.state.is_paused and not self._fed and self._store.waiters.is_empty
        producers = {**self._born_hosts, **self._senders}
        self._forwarder.close_producers(producers, is_handover=is_complete)
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

    def _begin_call(self, now: float, wall_ms: int) -> None:
        """Take the times of a call that may change the deadlines of services."""
        self._is_settled = False
        self.state.now, self.state.wall_ms = now, wall_ms

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
        is_fast = request.channel.listener == FAST_LISTENER
        handler = self._fast_handlers.get(code) if is_fast else self._handlers.get(code)
        if handler is None:
            return self._outcomes.counted(request, Reply(not_supported(code)), UNKNOWN_CODE)
        refusal = checks.refuse(state, request) or slave_refusals.refuse(state, request)
        if refusal is not None:
            if state.quotas.is_on:
                state.quotas.gate.note_denied(request)
            return self._outcomes.counted(request, refusal, code)
        if state.identity.is_elected and code in SENDS:
            if self._forwarder.must_forward(request):
                return self._forwarder.take(request)
            self._senders[request.channel] = None
        admitted = self._outcomes.admitted(request, handler)
        if isinstance(admitted, Reply):
            return self._outcomes.counted(request, admitted, code)
        try:
            outcome = admitted(state, request)
        except RemoteError as error:
            outcome = Reply(failed(str(error)))
        if isinstance(outcome, (Reply, AnsweredLater, Silent)):
            return self._outcomes.counted(request, outcome, code)
        self._outcomes.start(request, outcome, now)
        if request.command.body:
            self._write_if_much(now, wall_ms)
        return ANSWERED_LATER

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
        if turn.arrived and self._schedule.arrived(turn.arrived):
            self._is_settled = False
        if not self._is_settled or now >= self._check_by:
            self._run_services(now)

    def _run_services(self, now: float) -> None:
        """Run everything that is due, and note when to run it next."""
        self._is_settled = self._schedule.run(now)
        self._services_due = self._schedule.due
        self._check_by = min(self._services_due, now + CHECK_SECONDS)

    def stored(self, turn: TurnResult, now: float, wall_ms: int) -> None:
        """What the store answered when it was closed."""
        self.state.now, self.state.wall_ms = now, wall_ms
        self._take_answers(turn, now)

    def _take_answers(self, turn: TurnResult, now: float) -> None:
        task_runner = self.state.task_runner
        for answer in turn.answers:
            sends = self._fed.pop(answer.number, None)
            if sends is not None:
                self._reply(sends, answer.replies, now)
            else:
                self._is_settled = False
                task_runner.put_answered(answer)
        for finished in turn.finished_reads:
            self._is_settled = False
            task_runner.reading_finished(finished)

    def _reply(self, sends: _Sends, replies: bytes, now: float) -> None:
        state = self.state
        state.admission.end(sends.fed_at, now, sends.count)
        self._figures.note(_KERNEL_CODE, _SUCCESS, now - sends.fed_at, times=sends.count)
        state.effects.add(Replies(sends.channel, sends.count, sends.taken_bytes, replies))

    def deadline(self) -> float:
        """When `turn` has something to do, unless another call comes first."""
        if self._is_settled:
            return min(self._store.deadline(), self._services_due)
        return min(self._store.deadline(), self._schedule.deadline())

    def written(self, file: File, failure: str | None, now: float, wall_ms: int) -> None:
        """A file write ended; `failure` says why the file is unchanged, None if it succeeded."""
        self._begin_call(now, wall_ms)
        state = self.state
        if failure is not None:
            state.effects.warning(f"writing file failed file={file.value}: {failure}")
        state.task_runner.written(file, failure)

    def client_answered(
        self, number: int, response: Command | None, now: float, wall_ms: int
    ) -> None:
        """A client answered a request of the broker; `response` is None after a timeout."""
        self._begin_call(now, wall_ms)
        self.state.task_runner.client_answered(number, response)

    def broker_answered(self, number: int, answer: Command | str, now: float, wall_ms: int) -> None:
        """Another broker answered a request of this broker, or `answer` says why it did not."""
        self._begin_call(now, wall_ms)
        self.state.task_runner.broker_answered(number, answer)

    def registered(
        self, name_server: str, told: RegisterBrokerResponse, now: float, wall_ms: int
    ) -> None:
        """A name server accepted the registration, and says which broker is the master."""
        self._begin_call(now, wall_ms)
        self.services.master_addresses.told(name_server, told)

    def closed(self, channel: Channel, now: float, wall_ms: int) -> None:
        """A connection closed."""
        self._begin_call(now, wall_ms)
        self._born_hosts.pop(channel, None)
        self._senders.pop(channel, None)
        self.state.access.throttle.closed(channel)
        self.state.task_runner.closed(channel)
        self._schedule.closed(channel)

    def take_effects(self) -> list[Effect]:
        """The effects that are pending, in order; each is returned once."""
        return self.state.effects.take()
