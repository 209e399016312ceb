"""Acquires and renews the queue locks of orderly consumers: one client consumes a queue at a time.

    LOCK_BATCH_MQ     when queues are taken, then every 20 s for all held queues
    at the client     a lock is valid for 30 s after its last confirmation (process_queue)
    at the broker     for 60 s; it grants a free or expired lock, and renews its holder's
    UNLOCK_BATCH_MQ   oneway, when a queue is released

Invariant: a queue whose lock was refused or expired at the client is dropped and taken anew,
because another client may have consumed from it meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, final

from gantrymq.base.errors import GantryError
from gantrymq.client.core.errors import RouteError
from gantrymq.client.core.flow.answers import success
from gantrymq.client.core.flow.flow_steps import Tell
from gantrymq.client.core.group.process_queue import ProcessQueue
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.safe_text import as_told
from gantrymq.wire import javajson
from gantrymq.wire.bodies.locks import LockedQueues, QueuesOfClient
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command

LOCK_TIMEOUT_S: Final = 1.0

RENEWAL_S: Final = 20.0


@final
class QueueLocks:
    """The lock requests of one orderly consumer."""

    __slots__ = ("_group", "_instance")

    def __init__(self, instance: Instance, group: str) -> None:
        self._instance = instance
        self._group = group

    async def lock(self, queues: Collection[MessageQueue]) -> dict[MessageQueue, bool]:
        """Return whether each lock was granted; queues whose broker did not answer are missing."""
        granted: dict[MessageQueue, bool] = {}
        for broker_name, those in _by_broker(queues).items():
            try:
                ours = await self._ask(broker_name, those)
            except Exception as error:  # it must not affect the other brokers
                cause, shown = as_told(error)
                self._instance.ports.log(f"lockBatchMQ exception, {broker_name}: {cause}", shown)
                continue
            granted.update({queue: queue in ours for queue in those})
        return granted

    async def renew(self, held: Iterable[ProcessQueue]) -> None:
        """Renew the locks of these queues; drop a queue whose lock was refused or has expired."""
        clock, log = self._instance.ports.clock, self._instance.ports.log
        asked_at = clock.monotonic()
        queues = {each.queue: each for each in held if not each.is_dropped}
        for queue, is_ours in (await self.lock(queues)).items():
            process_queue = queues[queue]
            if is_ours and process_queue.is_locked(asked_at):
                process_queue.locked_at = asked_at
                continue
            reason = "expired" if is_ours else "held by another client"
            log(f"queue lock lost, dropping the queue queue={queue} reason={reason}")
            process_queue.locked_at = None
            process_queue.drop()
            self._instance.rebalance_wanted.fire()

    async def unlock(self, queues: Collection[MessageQueue]) -> None:
        """Release locks by oneway requests; a lock whose request is lost expires at the broker."""
        for broker_name, those in _by_broker(queues).items():
            address = self._instance.master(broker_name)
            if address is None:
                continue
            command = Command(RequestCode.UNLOCK_BATCH_MQ, flag=FLAG_ONEWAY, body=self._body(those))
            try:
                await Tell(address, command)
            except GantryError as error:
                self._instance.ports.log(f"unlockBatchMQ exception, {broker_name}: {error}")

    async def _ask(self, broker_name: str, queues: list[MessageQueue]) -> set[MessageQueue]:
        address = self._instance.master(broker_name)
        if address is None:
            raise RouteError(f"The broker[{broker_name}] master node does not exist")
        command = Command(RequestCode.LOCK_BATCH_MQ, body=self._body(queues))
        answer = await success(address, command, LOCK_TIMEOUT_S)
        return set(LockedQueues.from_json(javajson.loads(answer.body)).queues)

    def _body(self, queues: list[MessageQueue]) -> bytes:
        body = QueuesOfClient(
            client_id=self._instance.client_id,
            consumer_group=self._group,
            queues=tuple(queues),
        )
        return javajson.dumps_fastjson(body.to_json())


def _by_broker(queues: Iterable[MessageQueue]) -> dict[str, list[MessageQueue]]:
    groups: dict[str, list[MessageQueue]] = {}
    for queue in queues:
        groups.setdefault(queue.broker_name, []).append(queue)
    return groups
