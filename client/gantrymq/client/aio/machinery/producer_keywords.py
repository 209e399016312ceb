"""Defines the keywords of producers, and RocketMQ's names of them in properties files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.client.aio.machinery.configuration import ClientKeywords, Names, flag, seconds
from gantrymq.client.core.instance.hooks import SendHook
from gantrymq.wire.message.compression import CompressionType


class ProducerKeywords(ClientKeywords, total=False):
    """The fields of ProducerSettings and of the client, and send hooks."""

    send_timeout_s: float
    try_timeout_s: float
    retries: int
    async_retries: int
    retry_when_not_stored: bool
    compress_over_bytes: int
    compression: CompressionType
    compression_level: int
    message_bytes_max: int
    default_topic: str
    default_topic_queues: int
    latency_faults: bool
    linger_s: float
    batch_bytes_max: int
    batch_messages_max: int
    waiting_bytes_max: int
    close_timeout_s: float
    trace: bool
    trace_topic: str
    send_hooks: Sequence[SendHook]


PRODUCER_NAMES: Final[Names] = {
    "sendMsgTimeout": ("send_timeout_s", seconds),
    "sendMsgMaxTimeoutPerRequest": ("try_timeout_s", seconds),
    "retryTimesWhenSendFailed": ("retries", int),
    "retryTimesWhenSendAsyncFailed": ("async_retries", int),
    "retryAnotherBrokerWhenNotStoreOK": ("retry_when_not_stored", flag),
    "compressMsgBodyOverHowmuch": ("compress_over_bytes", int),
    "rocketmq.message.compressType": (
        "compression",
        lambda text: CompressionType[text.upper()],
    ),
    "rocketmq.message.compressLevel": ("compression_level", int),
    "maxMessageSize": ("message_bytes_max", int),
    "createTopicKey": ("default_topic", str),
    "defaultTopicQueueNums": ("default_topic_queues", int),
    "sendLatencyFaultEnable": ("latency_faults", flag),
    "batchMaxDelayMs": ("linger_s", seconds),
    "batchMaxBytes": ("batch_bytes_max", int),
    "totalBatchMaxBytes": ("waiting_bytes_max", int),
    "enableTrace": ("trace", flag),
    "traceTopic": ("trace_topic", str),
}
