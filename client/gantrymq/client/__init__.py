"""Producers, consumers and administration of RocketMQ and Gantry clusters."""

from gantrymq.client.aio.producer import Producer
from gantrymq.client.aio.push_consumer import PushConsumer
from gantrymq.client.aio.sending_soon import Sending
from gantrymq.client.aio.transaction_producer import TransactionProducer
from gantrymq.client.core.allocation import (
    Configured,
    ConsistentHash,
    MachineRoom,
    NearMachineRoom,
    average,
    average_by_circle,
)
from gantrymq.client.core.batches import split
from gantrymq.client.core.errors import (
    BrokerError,
    ClientError,
    MessageError,
    RouteError,
    SendError,
    StateError,
)
from gantrymq.client.core.lingering import WaitingFullError
from gantrymq.client.core.listeners import Listener
from gantrymq.client.core.message import Message
from gantrymq.client.core.outcomes import (
    COMMIT,
    LATER,
    ROLLBACK,
    SUCCESS,
    SUSPEND,
    Later,
    Outcome,
    Suspend,
)
from gantrymq.client.core.push_consumer import QueueStatus
from gantrymq.client.core.received import ReceivedMessage
from gantrymq.client.core.replies import NoReplyError, reply
from gantrymq.client.core.results import SendResult, SendStatus
from gantrymq.client.core.selecting import by_key, random_queue
from gantrymq.client.core.sending import SendMode
from gantrymq.client.core.start_offset import ConsumeFrom
from gantrymq.client.core.subscriptions import Sql
from gantrymq.client.core.transactions import TransactionResult, TransactionState
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.message.compression import CompressionType

__all__ = [
    "COMMIT",
    "LATER",
    "ROLLBACK",
    "SUCCESS",
    "SUSPEND",
    "BrokerError",
    "ClientError",
    "CompressionType",
    "Configured",
    "ConsistentHash",
    "ConsumeFrom",
    "Later",
    "Listener",
    "MachineRoom",
    "Message",
    "MessageError",
    "MessageQueue",
    "NearMachineRoom",
    "NoReplyError",
    "Outcome",
    "Producer",
    "PushConsumer",
    "QueueStatus",
    "ReceivedMessage",
    "RouteError",
    "SendError",
    "SendMode",
    "SendResult",
    "SendStatus",
    "Sending",
    "Sql",
    "StateError",
    "Suspend",
    "TransactionProducer",
    "TransactionResult",
    "TransactionState",
    "WaitingFullError",
    "average",
    "average_by_circle",
    "by_key",
    "random_queue",
    "reply",
    "split",
]
