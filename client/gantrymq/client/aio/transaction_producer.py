"""Provides the transaction producer on asyncio: messages visible only after a local commit."""

from __future__ import annotations

from typing import Unpack, final

from gantrymq.client.aio.machinery.environment import REAL, Environment
from gantrymq.client.aio.machinery.old_names import renamed_environment
from gantrymq.client.aio.machinery.producer_keywords import ProducerKeywords
from gantrymq.client.aio.membership import Startable
from gantrymq.client.aio.producer_host import ProducerHost
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.producer.producer import ProducerCore
from gantrymq.client.core.producer.transactions import (
    Checker,
    Local,
    TransactionResult,
    Transactions,
)
from gantrymq.client.core.send.producer_settings import ProducerSettings


@final
class TransactionProducer(Startable):
    """Sends messages in transactions.

        async def pay(message: Message, order: object) -> TransactionState: ...
        async def check(message: ReceivedMessage) -> TransactionState: ...

        async with TransactionProducer("payments", check=check, name_servers=...) as producer:
            await producer.send_in_transaction(Message("paid", b"4711"), pay, order)

    A broker that does not know the end of a transaction has `check` called, which looks for the
    message's `id` in the data that `pay` stored. Both may be plain functions; an exception counts
    as UNKNOWN.
    """

    def __init__(
        self,
        group: str,
        *,
        check: Checker,
        environment: Environment = REAL,
        world: Environment | None = None,
        **keywords: Unpack[ProducerKeywords],
    ) -> None:
        self._host = ProducerHost(group, renamed_environment(environment, world), keywords)
        self._check = check
        self._transactions: Transactions | None = None

    @property
    def group(self) -> str:
        return self._host.group

    @property
    def settings(self) -> ProducerSettings:
        return self._host.settings

    async def start(self) -> None:
        """Start; raises StateError if it was started before, or if another producer has the
        group."""
        await self._host.start(self._prepare)

    def _prepare(self, core: ProducerCore) -> None:
        self._transactions = Transactions(core, self._check)

    async def close(self) -> None:
        """Close the producer; a second call does nothing."""
        await self._host.close()

    async def send_in_transaction(
        self, message: Message, local: Local, argument: object = None
    ) -> TransactionResult:
        """Send a half message, run `local(message, argument)`, and commit or roll back by its
        result.

        Raises what a send raises if there is no half message; `local` did not run then.
        """
        self._host.member.lifecycle.must_run()
        assert self._transactions is not None, "what runs was prepared"
        return await self._host.run(self._transactions.send(message, local, argument))

    async def send(self, message: Message) -> SendResult:
        """Send a message without a transaction."""
        return await self._host.run(self._host.member.send(message))
