"""Defines the name server's core: requests, events and time go in, outcomes and effects come out.

    handle(request, now) -> Reply | Parked | Silent | Working      closed(channel, now)
    written(file, failure, now) -> replies                         deadline(), expire(now)
    take_effects() -> log lines, writes, channels to close, notices to send

After each of them the owner calls `take_effects` and carries the effects out.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.acl.guard import Guard
from gantrymq.acl.plain.accounts import Rules
from gantrymq.acl.requests.needs import NAME_SERVER_REQUESTS
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.signature_throttle import SignatureThrottle
from gantrymq.audit.actions import ACTIONS
from gantrymq.audit.record import Actor
from gantrymq.base.errors import RemoteError
from gantrymq.base.memory_account import LIMIT_MAX, MemoryAccount
from gantrymq.base.tasks import SlicedTask
from gantrymq.namesrv.core.audit_trail import AuditTrail, values_of
from gantrymq.namesrv.core.config import kvconfig
from gantrymq.namesrv.core.config.kvconfig import Namespaces
from gantrymq.namesrv.core.handlers.broker_requests import remove_members
from gantrymq.namesrv.core.handlers.config_requests import settings_changed
from gantrymq.namesrv.core.limits import NameServerLimits
from gantrymq.namesrv.core.messages import (
    Channel,
    CloseChannel,
    Effect,
    File,
    Outcome,
    Parked,
    Reply,
    Request,
    SaveKv,
    SaveSettings,
    Silent,
    Working,
)
from gantrymq.namesrv.core.request_quota import RequestQuota
from gantrymq.namesrv.core.requests import REQUESTS
from gantrymq.namesrv.core.responses import done, refused
from gantrymq.namesrv.core.routing.routes import named
from gantrymq.namesrv.core.state import Configuration, Counters, Handler, State
from gantrymq.remoting.refusal import failed, not_supported
from gantrymq.wire import javajson
from gantrymq.wire.bodies.kv import kv_config_to_json
from gantrymq.wire.codes import ResponseCode

_SILENT: Final = Silent()

# KV configuration is logged after a minute, then every ten, as in Java.
KV_LOG_FIRST_SECONDS: Final = 60.0
KV_LOG_SECONDS: Final = 600.0

UNKNOWN_CODE: Final = -1


@final
class NameServer:
    """The core. It owns the state; the assembly owns sockets, files and the clock."""

    __slots__ = ("_kv_logged_at", "guard", "quota", "state", "throttle", "trail")

    def __init__(
        self,
        configuration: Configuration,
        namespaces: Namespaces,
        now: float,
        limits: NameServerLimits | None = None,
        memory: MemoryAccount | None = None,
    ) -> None:
        """`memory` counts the memory that the server holds for all peers."""
        account = memory or MemoryAccount(LIMIT_MAX)
        self.state = State(configuration, namespaces, limits or NameServerLimits(), now, account)
        # Without rules the guard admits no client; the assembly loads them.
        is_guarded = configuration.settings.acl_enable
        self.guard = Guard(Rules(), NAME_SERVER_REQUESTS) if is_guarded else None
        self.quota = RequestQuota(configuration.settings)
        self.throttle = SignatureThrottle()
        self.trail = AuditTrail()
        self._kv_logged_at = now + KV_LOG_FIRST_SECONDS - KV_LOG_SECONDS

    @property
    def counters(self) -> Counters:
        return self.state.counters

    def handle(self, request: Request, now: float, wall_ms: int) -> Outcome:
        """Carry out one request."""
        command = request.command
        code = command.code
        handler = REQUESTS.get(code)
        outcome: Outcome
        busy = self.quota.admit(request, now, self.state.effects) if self.quota.rate else None
        if busy is not None:
            code, outcome = UNKNOWN_CODE if handler is None else code, busy
        elif handler is None:
            code, outcome = UNKNOWN_CODE, Reply(not_supported(code))
        elif (refusal := self._refusal(request, now, wall_ms)) is not None:
            outcome = refusal
        else:
            carry_out = self._audited if code in ACTIONS else _carried_out
            outcome = carry_out(handler, self.state, request, now)
        if isinstance(outcome, Working):
            return Working(self._finish(request, outcome))
        return self._counted(request, code, outcome)

    def _finish(self, request: Request, working: Working) -> SlicedTask[Outcome]:
        try:
            outcome = yield from working.task
        except RemoteError as error:
            outcome = Reply(failed(str(error)))
        return self._counted(request, request.command.code, outcome)

    def _counted(self, request: Request, code: int, outcome: Outcome) -> Outcome:
        if isinstance(outcome, Reply):
            self._count(code, outcome)
        return _SILENT if request.command.is_oneway else outcome

    def _audited(self, handler: Handler, state: State, request: Request, now: float) -> Outcome:
        before = values_of(state, request)
        outcome = _carried_out(handler, state, request, now)
        if isinstance(outcome, Parked):
            self.trail.park(request, before)
        else:
            self.trail.note(state, request, self._actor(request), outcome, before)
        return outcome

    def _refusal(self, request: Request, now: float, wall_ms: int) -> Reply | None:
        """The refusal if access control does not allow the request; None if it does."""
        guard, command, channel = self.guard, request.command, request.channel
        if guard is None:
            return None
        caller = Caller(channel.peer, wall_ms)
        refusal = self.throttle.check(guard, command, channel, caller, now)
        if refusal is None:
            return None
        self.trail.refused(self.state, request, self._actor(request), refusal, now)
        if refusal.is_logged:
            self.state.effects.warning(
                f"refused request code={command.code} from={channel.peer}: {refusal.remark}"
            )
        return Reply(failed(refusal.remark))

    def _actor(self, request: Request) -> Actor:
        """The sender, with the account that it named if accounts are checked."""
        account = "" if self.guard is None else self.guard.account_of(request.command)
        return Actor(request.channel.peer, account)

    def closed(self, channel: Channel, now: float) -> None:
        """Remove a connection that ended, and the brokers that registered over it."""
        self.quota.closed(channel)
        self.throttle.closed(channel)
        leaving = self.state.liveness.closed(channel, now)
        for member in leaving:
            self.state.effects.info(
                "the broker's channel destroyed, submit the unregister request at once, broker"
                f" info: {named(member)}, submit result: true"
            )
        remove_members(self.state, leaving)

    def deadline(self) -> float:
        """When `expire` must be called next."""
        return min(self.state.liveness.deadline(), self._kv_logged_at + KV_LOG_SECONDS)

    def expire(self, now: float) -> None:
        """Remove expired brokers, and log the KV configuration when it is due."""
        state = self.state
        interval = state.settings.scan_not_active_broker_interval / 1000
        silent, gone = state.liveness.due(now, interval)
        for member in silent:
            limit_ms = round(member.timeout_seconds * 1000)
            state.effects.warning(f"The broker channel expired, {named(member)} {limit_ms}ms")
            if member.channel is not None:
                state.effects.add(CloseChannel(member.channel, "broker expired"))
        for member in gone:
            state.effects.warning(f"master did not return in time {named(member)}")
        state.counters.expired_brokers += len(silent)
        remove_members(state, [*silent, *gone])
        state.route_memory.count()
        if now >= self._kv_logged_at + KV_LOG_SECONDS:
            self._kv_logged_at = now
            for line in kvconfig.lines(state.namespaces):
                state.effects.info(line)

    def written(self, file: File, failure: str | None) -> list[tuple[Request, Reply]]:
        """A write ended: returns the requests that wait for it, with their responses.

        `failure` says why the file is unchanged.
        """
        state = self.state
        kept = state.kv if file is File.KV else state.configuration
        requests = kept.written(failed=failure is not None)
        if failure is None:
            if file is File.SETTINGS:
                settings_changed(state)
                self.quota.change(state.settings)
        else:
            state.effects.warning(f"file not written file={file.value} error={failure}")
        answers: list[tuple[Request, Reply]] = []
        for request in requests:
            reply = done()
            if failure is not None:
                remark = f"not changed: {file.value} could not be written: {failure}"
                reply = refused(ResponseCode.SYSTEM_ERROR, remark)
            self._count(request.command.code, reply)
            before = self.trail.unpark(request)
            self.trail.note(state, request, self._actor(request), reply, before)
            if not request.command.is_oneway:
                answers.append((request, reply))
        return answers

    def take_effects(self) -> list[Effect]:
        """The effects to carry out now, in order."""
        state = self.state
        tables = state.kv.next_write()
        if tables is not None:
            content = javajson.dumps_fastjson(kv_config_to_json(tables.namespaces))
            state.effects.add(SaveKv(content))
        configuration = state.configuration.next_write()
        if configuration is not None:
            state.effects.add(SaveSettings(configuration.changes))
        return state.effects.take()

    def _count(self, code: int, reply: Reply) -> None:
        self.state.counters.requests[code, reply.command.code] += 1


def _carried_out(handler: Handler, state: State, request: Request, now: float) -> Outcome:
    try:
        return handler(state, request, now)
    except RemoteError as error:
        return Reply(failed(str(error)))
