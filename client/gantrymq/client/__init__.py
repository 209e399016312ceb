"""Provides producers, consumers and administration of RocketMQ and Gantry clusters.

Names are imported when they are first used, because a command that lists topics needs no consumers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gantrymq.base.errors import ConfigurationError, GantryError
    from gantrymq.client.aio.admin import Admin
    from gantrymq.client.aio.machinery.sending import Sending
    from gantrymq.client.aio.machinery.sendings import Sendings
    from gantrymq.client.aio.pop_consumer import PopConsumer, PoppedMessage
    from gantrymq.client.aio.producer import Producer
    from gantrymq.client.aio.pull_consumer import PullConsumer
    from gantrymq.client.aio.push_consumer import PushConsumer
    from gantrymq.client.aio.transaction_producer import TransactionProducer
    from gantrymq.client.core.errors import (
        BrokerError,
        ClientError,
        MessageError,
        RouteError,
        SendError,
        StateError,
    )
    from gantrymq.client.core.group.allocation import (
        Configured,
        ConsistentHash,
        MachineRoom,
        NearMachineRoom,
        average,
        average_by_circle,
    )
    from gantrymq.client.core.group.start_offset import ConsumeFrom
    from gantrymq.client.core.group.subscriptions import Sql, SubscriptionError
    from gantrymq.client.core.instance.replies import NoReplyError, reply
    from gantrymq.client.core.message.message import Message
    from gantrymq.client.core.message.outcomes import (
        COMMIT,
        LATER,
        ROLLBACK,
        SUCCESS,
        SUSPEND,
        Later,
        Outcome,
        Suspend,
    )
    from gantrymq.client.core.message.received import ReceivedMessage
    from gantrymq.client.core.message.results import SendResult, SendStatus
    from gantrymq.client.core.producer.transactions import TransactionResult, TransactionState
    from gantrymq.client.core.push.listeners import Listener
    from gantrymq.client.core.push.queue_status import QueueStatus
    from gantrymq.client.core.send.batch_results import SendResults, SomeUnsentError
    from gantrymq.client.core.send.batches import split
    from gantrymq.client.core.send.record_accumulator import WaitingFullError
    from gantrymq.client.core.send.selecting import by_key, random_queue
    from gantrymq.client.core.send.sending import SendMode
    from gantrymq.client.metrics import ClientMetrics
    from gantrymq.remoting.failures import RequestError
    from gantrymq.runtime.security.certificates import ClientTls
    from gantrymq.wire.bodies.shared import MessageQueue
    from gantrymq.wire.message.compression import CompressionType

__all__ = [
    "COMMIT",
    "LATER",
    "ROLLBACK",
    "SUCCESS",
    "SUSPEND",
    "Admin",
    "BrokerError",
    "ClientError",
    "ClientMetrics",
    "ClientTls",
    "CompressionType",
    "ConfigurationError",
    "Configured",
    "ConsistentHash",
    "ConsumeFrom",
    "GantryError",
    "Later",
    "Listener",
    "MachineRoom",
    "Message",
    "MessageError",
    "MessageQueue",
    "NearMachineRoom",
    "NoReplyError",
    "Outcome",
    "PopConsumer",
    "PoppedMessage",
    "Producer",
    "PullConsumer",
    "PushConsumer",
    "QueueStatus",
    "ReceivedMessage",
    "RequestError",
    "RouteError",
    "SendError",
    "SendMode",
    "SendResult",
    "SendResults",
    "SendStatus",
    "Sending",
    "Sendings",
    "SomeUnsentError",
    "Sql",
    "StateError",
    "SubscriptionError",
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

_HOMES: Final = {
    "gantrymq.base.errors": ("ConfigurationError", "GantryError"),
    "gantrymq.client.aio.admin": ("Admin",),
    "gantrymq.client.aio.pop_consumer": ("PopConsumer", "PoppedMessage"),
    "gantrymq.client.aio.producer": ("Producer",),
    "gantrymq.client.aio.pull_consumer": ("PullConsumer",),
    "gantrymq.client.aio.push_consumer": ("PushConsumer",),
    "gantrymq.client.aio.machinery.sending": ("Sending",),
    "gantrymq.client.aio.machinery.sendings": ("Sendings",),
    "gantrymq.client.aio.transaction_producer": ("TransactionProducer",),
    "gantrymq.client.core.group.allocation": (
        "Configured",
        "ConsistentHash",
        "MachineRoom",
        "NearMachineRoom",
        "average",
        "average_by_circle",
    ),
    "gantrymq.client.core.send.batches": ("split",),
    "gantrymq.client.core.errors": (
        "BrokerError",
        "ClientError",
        "MessageError",
        "RouteError",
        "SendError",
        "StateError",
    ),
    "gantrymq.client.core.send.record_accumulator": ("WaitingFullError",),
    "gantrymq.client.core.push.listeners": ("Listener",),
    "gantrymq.client.core.message.message": ("Message",),
    "gantrymq.client.core.message.outcomes": (
        "COMMIT",
        "LATER",
        "Later",
        "Outcome",
        "ROLLBACK",
        "SUCCESS",
        "SUSPEND",
        "Suspend",
    ),
    "gantrymq.client.core.push.queue_status": ("QueueStatus",),
    "gantrymq.client.core.message.received": ("ReceivedMessage",),
    "gantrymq.client.core.instance.replies": ("NoReplyError", "reply"),
    "gantrymq.client.core.message.results": ("SendResult", "SendStatus"),
    "gantrymq.client.core.send.selecting": ("by_key", "random_queue"),
    "gantrymq.client.core.send.sending": ("SendMode",),
    "gantrymq.client.core.send.batch_results": ("SendResults", "SomeUnsentError"),
    "gantrymq.client.core.group.start_offset": ("ConsumeFrom",),
    "gantrymq.client.core.group.subscriptions": ("Sql", "SubscriptionError"),
    "gantrymq.client.core.producer.transactions": ("TransactionResult", "TransactionState"),
    "gantrymq.client.metrics": ("ClientMetrics",),
    "gantrymq.remoting.failures": ("RequestError",),
    "gantrymq.runtime.security.certificates": ("ClientTls",),
    "gantrymq.wire.bodies.shared": ("MessageQueue",),
    "gantrymq.wire.message.compression": ("CompressionType",),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            value: object = getattr(import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
