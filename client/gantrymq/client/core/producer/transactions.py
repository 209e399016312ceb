"""Implements transactions: a message becomes visible when the local transaction commits, or never.

    half message sent      -> the local transaction runs; its state is sent to the broker
    not stored safely      -> it does not run, and the half message is rolled back
    state unknown or lost  -> the broker asks any producer of the group, repeatedly

Invariant: COMMIT is sent only if the local transaction or the check returned it. Any failure there
is UNKNOWN, and the broker asks again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Final, TypeAlias, final

from gantrymq.base.errors import RemoteError
from gantrymq.client.core.errors import ClientError
from gantrymq.client.core.flow.flow_steps import Call, Tell
from gantrymq.client.core.instance.hooks import EndContext, EndHook, MessageKind, call_all
from gantrymq.client.core.message import namespace
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.message.results import SendResult, SendStatus
from gantrymq.client.core.producer.producer import ProducerCore
from gantrymq.client.core.safe_text import text_of
from gantrymq.client.core.send.send_request import prepared
from gantrymq.remoting.failures import RequestError
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.headers.transaction import CheckTransactionStateRequest, EndTransactionRequest
from gantrymq.wire.message import offset_id, property_names, sys_flag
from gantrymq.wire.message.record import decode

# Concurrent checks, as Java's checkRequestHoldMax; brokers repeat dropped ones.
CHECKS_MAX: Final = 2_000


class TransactionState(IntEnum):
    """The state of the local transaction. The values are the protocol's."""

    UNKNOWN = sys_flag.TRANSACTION_NONE
    COMMIT = sys_flag.TRANSACTION_COMMIT
    ROLLBACK = sys_flag.TRANSACTION_ROLLBACK

    def __str__(self) -> str:
        return self.name


_NAMES: Final = {
    TransactionState.UNKNOWN: "UNKNOW",
    TransactionState.COMMIT: "COMMIT_MESSAGE",
    TransactionState.ROLLBACK: "ROLLBACK_MESSAGE",
}

Local: TypeAlias = Callable[[Message, object], object]
"""The local transaction: receives the message, whose `id` is set, and the argument of the send;
returns a TransactionState or an awaitable of one."""

Checker: TypeAlias = Callable[[ReceivedMessage], object]
"""Receives a half message; returns the TransactionState of its transaction or an awaitable of
it."""


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """The result of a transactional send."""

    sent: SendResult
    state: TransactionState
    error: Exception | None = None
    """The exception of the local transaction; the state is UNKNOWN then."""


@dataclass(frozen=True, slots=True)
class _Half:
    """A half message with the fields by which its broker identifies it."""

    address: str
    broker_name: str
    topic: str
    message_id: str
    transaction_id: str
    commit_log_offset: int
    queue_offset: int
    tags: str
    keys: str
    is_from_check: bool


@final
class Transactions:
    """The transactions of one producer."""

    def __init__(self, core: ProducerCore, checker: Checker) -> None:
        """Send hooks of `core` that implement EndHook are called at the end of each transaction."""
        self._core = core
        self._checker = checker
        self._hooks = [hook for hook in core.sender.hooks if isinstance(hook, EndHook)]
        self._ports = core.instance.ports
        core.instance.handlers[RequestCode.CHECK_TRANSACTION_STATE] = self._asked
        core.check = self._answer_check
        self._checks = 0

    async def send(self, message: Message, local: Local, argument: object) -> TransactionResult:
        """Send a half message and run the local transaction. Raises what a send raises if there is
        no half message, or if its broker could not be told the end; the local transaction did not
        run then."""
        core = self._core
        core.lifecycle.must_run()
        extra = {
            property_names.TRANSACTION_PREPARED: "true",
            property_names.PRODUCER_GROUP: core.group,
        }
        message = prepared(message, self._ports.new_id())
        request = core.request_of(message, extra, sys_flag.TRANSACTION_PREPARED, MessageKind.HALF)
        await core.be_known(message.topic)
        sent = await core.sender.send(request)
        half = await self._half(sent, message)  # may raise, so it comes first
        state = TransactionState.ROLLBACK
        failure: Exception | None = None
        if sent.status is SendStatus.SEND_OK:
            state, failure = await self._state_of(Call(local, message, argument))
        await self._end(half, state, failure)
        return TransactionResult(core.unwrapped(sent), state, failure)

    async def _state_of(self, call: Call[object]) -> tuple[TransactionState, Exception | None]:
        """Return the state and the exception of a user's function."""
        try:
            returned = await call
        except Exception as error:
            self._ports.log(
                f"transaction state unknown function={text_of(call.function)}"
                f" error={text_of(error)}",
                error,
            )
            return TransactionState.UNKNOWN, error
        if isinstance(returned, TransactionState):
            return returned, None
        if returned is not None:
            self._ports.log(
                f"transaction state unknown function={text_of(call.function)}: it returned"
                f" {text_of(returned)}, which is not a TransactionState"
            )
        return TransactionState.UNKNOWN, None

    async def _half(self, sent: SendResult, message: Message) -> _Half:
        try:
            _, commit_log_offset = offset_id.decode(sent.offset_message_id)
        except RemoteError as error:
            raise ClientError(
                f"The broker's response to a half message cannot be decoded: {error}"
            ) from error
        return _Half(
            await self._core.sender.address(sent.queue),
            sent.queue.broker_name,
            sent.queue.topic,
            sent.message_id,
            sent.transaction_id,
            commit_log_offset,
            sent.queue_offset,
            message.tag,
            " ".join(message.keys),
            is_from_check=False,
        )

    async def _end(
        self, half: _Half, state: TransactionState, failure: Exception | None = None
    ) -> None:
        """Send the end by a oneway request; if it is lost, the broker asks for it."""
        header = EndTransactionRequest(
            producer_group=self._core.group,
            tran_state_table_offset=half.queue_offset,
            commit_log_offset=half.commit_log_offset,
            commit_or_rollback=int(state),
            from_transaction_check=half.is_from_check,
            msg_id=half.message_id,
            transaction_id=half.transaction_id,
            broker_name=half.broker_name,
            topic=half.topic,
        )
        what = "checkLocalTransactionState" if half.is_from_check else "executeLocalTransaction"
        remark = None if failure is None else f"{what} exception: {text_of(failure)}"
        command = Command(
            RequestCode.END_TRANSACTION, flag=FLAG_ONEWAY, ext=header.encode(), remark=remark
        )
        try:
            await Tell(half.address, command)
        except RequestError as error:
            self._ports.log(
                f"end of transaction not sent, the broker will check id={half.message_id}"
                f" state={state.name} address={half.address} error={error}"
            )
        context = EndContext(
            self._core.group,
            half.topic,
            half.message_id,
            half.tags,
            half.keys,
            half.transaction_id,
            half.address,
            _NAMES[state],
            half.is_from_check,
            self._ports.clock.wall_ms(),
        )
        call_all([partial(hook.after_end, context) for hook in self._hooks], self._ports.log)

    # ------------------------------------------------------------------ checks

    async def _asked(self, address: str, request: Command) -> None:
        """Handle CHECK_TRANSACTION_STATE for any producer of the client."""
        message = ReceivedMessage(decode(request.body), MessageQueue("", "", 0))
        group = message.properties.get(property_names.PRODUCER_GROUP, "")
        producer = self._core.instance.producers.get(group)
        if isinstance(producer, ProducerCore) and producer.check is not None:
            header = CheckTransactionStateRequest.decode(request.ext)
            await producer.check(address, header, message)
        else:
            self._ports.log(
                f"transaction check for an unknown producer group={group} address={address}"
            )

    async def _answer_check(
        self, address: str, header: CheckTransactionStateRequest, message: ReceivedMessage
    ) -> None:
        if self._checks >= CHECKS_MAX:
            self._ports.log(
                f"too many transaction checks, the broker will repeat id={message.id}"
                f" address={address}"
            )
            return
        self._checks += 1
        try:
            topic = message.topic
            message.rename(namespace.unwrap(self._core.namespace, topic))
            state, failure = await self._state_of(Call(self._checker, message))
            half = _Half(
                address,
                header.broker_name or "",
                topic,
                message.id,
                header.transaction_id or message.id,
                header.commit_log_offset,
                header.tran_state_table_offset,
                message.tag,
                " ".join(message.keys),
                is_from_check=True,
            )
            await self._end(half, state, failure)
        finally:
            self._checks -= 1
