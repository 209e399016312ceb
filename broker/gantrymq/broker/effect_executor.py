"""Executes the core's effects other than responses: peer requests, files, registrations, logs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Final, final

from gantrymq.base.errors import LocalError
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.messages import (
    SECRET_FILES,
    AskBroker,
    AskClient,
    AskNameServers,
    Audit,
    AwaitRegistration,
    CloseChannel,
    DelayChannel,
    Effect,
    File,
    Level,
    LogLine,
    Register,
    SaveFile,
    Spread,
    Tell,
)
from gantrymq.broker.peers.registrar import Registrar
from gantrymq.broker.peers.remote_requests import RemoteRequests
from gantrymq.broker.peers.topic_propagator import TopicPropagator
from gantrymq.remoting.events import Reason
from gantrymq.remoting.failures import RequestError
from gantrymq.runtime.clock import Clock
from gantrymq.runtime.logs import Log, QuietLog
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.storage.audit_log import AuditLog
from gantrymq.runtime.storage.files import FileSaver
from gantrymq.wire.command import Command

# The limit on concurrent requests and file writes. A client that does not answer in time is not
# asked again.
TASKS_MAX: Final = 4096

LINES_MAX: Final = 300
LINES_SECONDS: Final = 10.0
KIND_CHARACTERS: Final = 40


@final
class EffectExecutor:
    """Executes effects and owns the tasks that they need. `turn_soon` is called when the core has
    work."""

    def __init__(
        self,
        core: Broker,
        clock: Clock,
        log: Log,
        turn_soon: Callable[[], None],
        registrar: Registrar,
        topic_propagator: TopicPropagator,
        peers: RemoteRequests,
        path_of: Callable[[File], Path],
        *,
        audit_log: AuditLog,
    ) -> None:
        self._core = core
        self._clock = clock
        self._log = log
        self._quiet_log = QuietLog(log, lines_max=LINES_MAX, interval_s=LINES_SECONDS)
        self._turn_soon = turn_soon
        self._registrar = registrar
        self._topic_propagator = topic_propagator
        self._peers = peers
        self._path_of = path_of
        self._audit_log = audit_log
        self._saver = FileSaver()
        self._tasks: set[asyncio.Task[None]] = set()

    async def finish(self) -> None:
        """Wait for all running tasks: each ends by itself."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def close(self) -> None:
        self._saver.close()

    def carry_out(self, effect: Effect, now: float) -> None:
        """Execute an effect. A failure is logged and does not stop the effects that follow."""
        try:
            self._carry_out(effect, now)
        except LocalError as error:
            self._quiet_log.error("effect", now, "executing an effect failed", cause=error)

    def _carry_out(self, effect: Effect, now: float) -> None:
        if isinstance(effect, Tell):
            assert isinstance(effect.channel, Channel)
            effect.channel.notify(effect.command)
        elif isinstance(effect, CloseChannel):
            assert isinstance(effect.channel, Channel)
            effect.channel.close(Reason.CLOSED_HERE, effect.reason)
        elif isinstance(effect, DelayChannel):
            assert isinstance(effect.channel, Channel)
            effect.channel.delay(effect.seconds)
        elif isinstance(effect, LogLine):
            self._write(effect, now)
        elif isinstance(effect, Audit):
            self._audit_log.write(effect.record)
        else:
            self._begin(effect)

    def _begin(self, effect: Effect) -> None:
        """Start an effect that takes longer than an iteration of the event loop."""
        if isinstance(effect, AskClient):
            self._own(self._ask(effect))
        elif isinstance(effect, AskNameServers):
            self._own(self._ask_name_servers(effect))
        elif isinstance(effect, AskBroker):
            self._own(self._ask_broker(effect))
        elif isinstance(effect, SaveFile):
            self._own(self._save(effect))
        elif isinstance(effect, Register):
            self._registrar.changed()
        elif isinstance(effect, AwaitRegistration):
            self._own(self._await_registration(effect))
        elif isinstance(effect, Spread):
            self._own(self._topic_propagator.spread(effect.config, self._registrar.addresses))
        else:
            raise LocalError(f"{effect!r} is a response, which the turn loop sends")

    def log_handler_error(self, code: int, error: Exception, now: float) -> None:
        """Log a defect of the broker's own code."""
        text = f"request handler raised an exception code={code}"
        self._quiet_log.error("broken handler", now, text, cause=error)

    def _write(self, line: LogLine, now: float) -> None:
        # The event, without its values: lines of one kind share a limit.
        kind = line.text.partition(",")[0].partition("=")[0][:KIND_CHARACTERS]
        if line.level is Level.ERROR:
            self._quiet_log.error(kind, now, line.text, cause=line.cause or RuntimeError())
        elif line.level is Level.WARNING:
            self._quiet_log.warning(kind, now, line.text)
        else:
            self._quiet_log.info(kind, now, line.text)

    def _own(self, work: Coroutine[None, None, None]) -> None:
        """Run a coroutine as a task. Each ends by itself: saves with the disk, requests by their
        timeout."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._log.error("task of an effect failed", cause=failure)

    async def _ask(self, question: AskClient) -> None:
        response: Command | None = None
        assert isinstance(question.channel, Channel)
        if len(self._tasks) <= TASKS_MAX:
            try:
                response = await question.channel.request(
                    question.command, question.timeout_seconds
                )
            except (RequestError, LocalError):  # LocalError: too large or too many
                response = None
        self._answered(question.number, response)

    async def _ask_name_servers(self, question: AskNameServers) -> None:
        response: Command | None = None
        if len(self._tasks) <= TASKS_MAX:
            response = await self._peers.ask_any(
                self._registrar.addresses, question.command, question.timeout_seconds
            )
        self._answered(question.number, response)

    async def _ask_broker(self, question: AskBroker) -> None:
        told: Command | str = f"{len(self._tasks)} requests and file writes are under way already"
        if len(self._tasks) <= TASKS_MAX:
            told = await self._peers.ask(
                question.address, question.command, question.timeout_seconds
            )
        now, wall_ms = self._clock.monotonic(), self._clock.wall_ms()
        self._core.broker_answered(question.number, told, now, wall_ms)
        self._turn_soon()

    async def _await_registration(self, awaited: AwaitRegistration) -> None:
        if len(self._tasks) <= TASKS_MAX:
            await self._registrar.told()
        self._answered(awaited.number, None)

    def _answered(self, number: int, response: Command | None) -> None:
        now, wall_ms = self._clock.monotonic(), self._clock.wall_ms()
        self._core.client_answered(number, response, now, wall_ms)
        self._turn_soon()

    async def _save(self, save: SaveFile) -> None:
        path, is_secret = self._path_of(save.file), save.file in SECRET_FILES
        failure = await self._saver.save(path, save.content, is_secret=is_secret)
        cause = None if failure is None else failure.cause
        self._core.written(save.file, cause, self._clock.monotonic(), self._clock.wall_ms())
        self._turn_soon()
