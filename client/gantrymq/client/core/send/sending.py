"""Sends messages to brokers: several attempts within one timeout, each at another queue.

    SYNC     1 + retries attempts; retried are a missing response, a failed connection, and the
             refusals in `RETRIED`
    ASYNC    1 + async_retries attempts; only network failures are retried
    oneway   one attempt; its outcome is unknown

Invariant: a result is returned only if a broker said that it has the message. Any other outcome
raises an error with the cause of each attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from typing import Final, NoReturn, final

from gantrymq.client.core.errors import BrokerError, ClientError, RouteError, SendError
from gantrymq.client.core.flow.flow_steps import FOREVER, Ask, Tell
from gantrymq.client.core.flow.send_timeout import SendTimeout
from gantrymq.client.core.instance.faults import Faults
from gantrymq.client.core.instance.hooks import SendContext, SendHook, call_all
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.routes import Route
from gantrymq.client.core.message.results import SendResult, SendStatus
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.queue_choice import QueueChoice
from gantrymq.client.core.send.send_request import SendRequest
from gantrymq.remoting.failures import RequestError, RequestTimeoutError
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import HeaderError
from gantrymq.wire.headers.send import SendMessageResponse

RETRIED: Final = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
        ResponseCode.GO_AWAY,
    }
)

# Refusals of a broker that is not, or no longer, the right one for the queue.
_ELSEWHERE: Final = RETRIED - {ResponseCode.SYSTEM_BUSY}

_STATUSES: Final = {int(status): status for status in SendStatus}


class SendMode(Enum):
    """Selects which failures are retried."""

    SYNC = "sync"
    ASYNC = "async"


@final
class Attempts:
    """The state of one send. Hot path, hence slotted."""

    __slots__ = ("began_at", "brokers", "causes", "gives_up_at", "mode", "tries_max")

    def __init__(self, began_at: float, budget_s: float, tries_max: int, mode: SendMode) -> None:
        self.began_at = began_at
        self.gives_up_at = began_at + budget_s
        self.tries_max = tries_max
        self.mode = mode
        self.causes: list[Exception] = []
        self.brokers: list[str] = []


@final
class Sender:
    """Sends the messages of one producer."""

    def __init__(
        self, instance: Instance, group: str, settings: ProducerSettings, hooks: Sequence[SendHook]
    ) -> None:
        """`group` is the name that servers know."""
        self.instance = instance
        self.group = group
        self.settings = settings
        self.hooks = tuple(hooks)
        self.topics: dict[str, None] = {}
        self._clock = instance.ports.clock
        self._is_unit = instance.settings.unit_mode
        self._faults = Faults() if settings.latency_faults else None
        self._send_timeout = SendTimeout()
        self._choice = QueueChoice(instance.ports.chance, self._faults)

    # ------------------------------------------------------------------ routes

    async def route(self, topic: str) -> Route:
        """Return the route of a writable topic, or the route it will inherit if it does not exist;
        raises RouteError."""
        self.topics[topic] = None
        instance = self.instance
        route = instance.routes.find(topic)
        if route is not None and route.publish:
            return route
        route = await instance.refresh_route(topic)
        if route is None or not route.publish:
            settings = self.settings
            route = await instance.inherit_route(
                topic, settings.default_topic, settings.default_topic_queues
            )
        if route is None or not route.publish:
            raise RouteError(
                f"No route info of this topic: {topic}. No broker has told the name servers"
                f" ({', '.join(instance.name_servers.addresses)}) of queues of it that can be"
                f" written, and none creates topics by itself; create it with"
                f" gantry updateTopic -t {topic} -c <cluster>"
            )
        return route

    async def address(self, queue: MessageQueue) -> str:
        """Return the address of the queue's master; raises RouteError."""
        address = self.instance.master(queue.broker_name)
        if address is None:
            await self.route(queue.topic)
            address = self.instance.master(queue.broker_name)
        if address is None:
            raise RouteError(
                f"The broker[{queue.broker_name}] not exist: no route of {queue.topic} names a"
                " master of it"
            )
        return address

    # ------------------------------------------------------------------ sending

    async def send(
        self,
        request: SendRequest,
        *,
        queue: MessageQueue | None = None,
        mode: SendMode = SendMode.SYNC,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Send to the given queue once, or else to several queues until one succeeds."""
        attempts = self._attempts(queue, mode, timeout_s)
        stored: SendResult | None = None  # a result with a status other than SEND_OK
        while len(attempts.brokers) < attempts.tries_max:
            if attempts.brokers and self._clock.monotonic() >= attempts.gives_up_at:
                break
            chosen = queue or await self._choose(request.topic, attempts)
            attempts.brokers.append(chosen.broker_name)
            try:
                stored = await self._try(request, chosen, attempts)
            except ClientError as error:
                attempts.causes.append(error)
                if not _is_retried(error, attempts.mode):
                    break
                continue
            if stored.status is SendStatus.SEND_OK or not self.settings.retry_when_not_stored:
                return stored
        return stored or self._failed(request, attempts)

    async def send_oneway(self, request: SendRequest, *, queue: MessageQueue | None = None) -> None:
        """Send without a response; raises RouteError and SendError, but the outcome is unknown."""
        if queue is None:
            route = await self.route(request.topic)
            now = self._clock.monotonic()
            queue = self._choice.choose(request.topic, route.publish, None, now)
        address = await self.address(queue)
        context = self._context(request, queue, address)
        self._before(context)
        command = self._command(request, queue, is_oneway=True)
        try:
            await Tell(address, command)
        except RequestError as error:
            raise SendError(f"{request.topic}: {error}", (error,)) from error
        self._after(context, self._clock.monotonic())

    def _command(
        self, request: SendRequest, queue: MessageQueue, *, is_oneway: bool = False
    ) -> Command:
        command = request.command(queue, self._clock.wall_ms(), is_oneway=is_oneway)
        if self._is_unit and command.ext is not None:
            command.ext["k"] = "true"
        return command

    async def _choose(self, topic: str, attempts: Attempts) -> MessageQueue:
        failed = attempts.brokers[-1] if attempts.brokers else None
        route = self.instance.routes.find(topic)
        if route is None or not route.publish:
            route = await self.route(topic)
        return self._choice.choose(topic, route.publish, failed, self._clock.monotonic())

    def _attempts(
        self, queue: MessageQueue | None, mode: SendMode, timeout_s: float | None
    ) -> Attempts:
        settings = self.settings
        now = self._clock.monotonic()
        retries = settings.retries if mode is SendMode.SYNC else settings.async_retries
        # An explicitly chosen queue gets one attempt, as in Java.
        tries_max = 1 if queue is not None else 1 + retries
        budget_s = settings.send_timeout_s if timeout_s is None else timeout_s
        return Attempts(now, budget_s, tries_max, mode)

    async def _try(
        self, request: SendRequest, queue: MessageQueue, attempts: Attempts
    ) -> SendResult:
        address = await self.address(queue)
        began_at = self._clock.monotonic()
        timeout_s = max(0.0, attempts.gives_up_at - began_at)
        if len(attempts.brokers) < attempts.tries_max:
            limit_s = self.settings.try_timeout_s or FOREVER
            timeout_s = min(timeout_s, limit_s, self._send_timeout.of_broker(queue.broker_name))
        context = self._context(request, queue, address) if self.hooks else None
        command = self._command(request, queue)
        if context is not None:
            self._before(context)
        try:
            answer = await Ask(address, command, timeout_s)
            result = result_of(answer, request, queue, address)
        except ClientError as error:
            self._has_failed(error, queue)
            if context is not None:
                context.error = error
                self._after(context, began_at)
            raise
        self._send_timeout.answered(queue.broker_name)
        if self._faults is not None:
            now = self._clock.monotonic()
            self._faults.took(queue.broker_name, now - began_at, now)
        if context is not None:
            context.result = result
            self._after(context, began_at)
        return result

    def _has_failed(self, error: ClientError, queue: MessageQueue) -> None:
        """Record the failure so that the next attempt can avoid the broker or learn a new route."""
        if self._faults is not None:
            self._faults.failed(queue.broker_name, self._clock.monotonic())
        if isinstance(error, BrokerError):
            self._send_timeout.answered(queue.broker_name)
            if error.code not in _ELSEWHERE:
                return
        self.instance.route_refresher.add(queue.topic)

    def _failed(self, request: SendRequest, attempts: Attempts) -> NoReturn:
        last = attempts.causes[-1]
        if isinstance(last, RequestTimeoutError):
            now = self._clock.monotonic()
            self._send_timeout.timed_out(attempts.brokers[-1], attempts.began_at, now)
        is_last_try = attempts.tries_max == 1 or not _is_retried(last, attempts.mode)
        if is_last_try and not isinstance(last, RequestError):
            raise last
        if is_last_try:
            raise SendError(f"{request.topic}: {last}", attempts.causes) from last
        took_s = self._clock.monotonic() - attempts.began_at
        text = (
            f"Send [{len(attempts.brokers)}] times, still failed, cost [{round(took_s * 1000)}]ms,"
            f" Topic: {request.topic}, BrokersSent: [{', '.join(attempts.brokers)}]: "
            + "; ".join(str(cause) for cause in attempts.causes)
        )
        if len(attempts.brokers) < attempts.tries_max:
            text = f"sendDefaultImpl call timeout: {text}; send_timeout_s is for all tries"
        raise SendError(text, attempts.causes)

    # ------------------------------------------------------------------ hooks

    def _context(self, request: SendRequest, queue: MessageQueue, address: str) -> SendContext:
        return SendContext(
            self.group,
            request.messages,
            request.message_ids,
            queue,
            address,
            request.kind,
            self._clock.wall_ms(),
            len(request.body),
        )

    def _before(self, context: SendContext) -> None:
        calls = [partial(hook.before_send, context) for hook in self.hooks]
        call_all(calls, self.instance.ports.log)

    def _after(self, context: SendContext, began_at: float) -> None:
        context.cost_ms = round((self._clock.monotonic() - began_at) * 1000)
        calls = [partial(hook.after_send, context) for hook in self.hooks]
        call_all(calls, self.instance.ports.log)


def result_of(
    answer: Command, request: SendRequest, queue: MessageQueue, address: str
) -> SendResult:
    """Decode the response; raises BrokerError if the broker does not have the message."""
    status = _STATUSES.get(answer.code)
    if status is None:
        raise BrokerError(answer.code, answer.remark, address)
    # Decoded inline: a header object takes three times as long.
    ext = answer.ext or {}
    try:
        queue_id, queue_offset = int(ext["queueId"]), int(ext["queueOffset"])
        offset_message_id = ext["msgId"]
    except (KeyError, ValueError):
        raise BrokerError(answer.code, _fault(ext), address) from None
    return SendResult(
        status,
        request.message_id,
        MessageQueue(queue.topic, queue.broker_name, queue_id),
        queue_offset,
        offset_message_id,
        transaction_id=ext.get("transactionId", ""),
        region_id=ext.get("MSG_REGION") or "DefaultRegion",
        is_traced=ext.get("TRACE_ON") != "false",
        recall_handle=ext.get("recallHandle", ""),
    )


def _fault(ext: dict[str, str]) -> str:
    """Return why a response cannot be decoded."""
    try:
        SendMessageResponse.decode(ext)
    except HeaderError as error:
        return f"its answer cannot be read: {error}"
    raise AssertionError("an answer was refused, and nothing in it is wrong")


def _is_retried(error: Exception, mode: SendMode) -> bool:
    if isinstance(error, RequestError):
        return True
    if mode is SendMode.ASYNC:
        return False
    return not isinstance(error, BrokerError) or error.code in RETRIED
