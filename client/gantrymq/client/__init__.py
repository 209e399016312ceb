"""Producers, consumers and administration of RocketMQ and Gantry clusters."""

from gantrymq.client.aio.push_consumer import PushConsumer
from gantrymq.client.core.allocation import (
    Configured,
    ConsistentHash,
    MachineRoom,
    NearMachineRoom,
    average,
    average_by_circle,
)
from gantrymq.client.core.listeners import Listener
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
from gantrymq.client.core.start_offset import ConsumeFrom
from gantrymq.client.core.subscriptions import Sql

__all__ = [
    "COMMIT",
    "LATER",
    "ROLLBACK",
    "SUCCESS",
    "SUSPEND",
    "Configured",
    "ConsistentHash",
    "ConsumeFrom",
    "Later",
    "Listener",
    "MachineRoom",
    "NearMachineRoom",
    "Outcome",
    "PushConsumer",
    "QueueStatus",
    "ReceivedMessage",
    "Sql",
    "Suspend",
    "average",
    "average_by_circle",
]
