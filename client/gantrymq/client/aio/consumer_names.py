"""Maps RocketMQ's names of consumer settings in properties files to fields and parsers."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from gantrymq.client.aio.machinery.configuration import Names, flag, seconds
from gantrymq.client.core.group.allocation import strategy
from gantrymq.client.core.group.start_offset import ConsumeFrom


def _minutes(text: str) -> float:
    return int(text) * 60.0


def _mebibytes(text: str) -> int:
    return int(text) << 20


def _bound(text: str) -> int | None:
    """Parse a limit; -1 means none."""
    return None if int(text) == -1 else int(text)


def _bound_mebibytes(text: str) -> int | None:
    count = _bound(text)
    return None if count is None else count << 20


def _moment(text: str) -> int:
    """Parse Java's yyyyMMddHHmmss in this machine's time zone, as milliseconds."""
    return int(datetime.strptime(text, "%Y%m%d%H%M%S").astimezone().timestamp() * 1000)


_BOTH: Final[Names] = {
    "pullBatchSize": ("pull_batch", int),
    "consumeFromWhere": ("consume_from", ConsumeFrom),
    "consumeTimestamp": ("consume_timestamp_ms", _moment),
    "allocateMessageQueueStrategy": ("allocate", strategy),
}

PUSH_NAMES: Final[Names] = {
    **_BOTH,
    "consumeThreadMax": ("consume_threads", int),
    "consumeMessageBatchMaxSize": ("consume_batch", int),
    "pullInterval": ("pull_interval_s", seconds),
    "pullThresholdForQueue": ("pull_threshold", int),
    "pullThresholdSizeForQueue": ("pull_threshold_bytes", _mebibytes),
    "pullThresholdForTopic": ("topic_pull_threshold", _bound),
    "pullThresholdSizeForTopic": ("topic_pull_threshold_bytes", _bound_mebibytes),
    "consumeConcurrentlyMaxSpan": ("max_span", int),
    "consumeTimeout": ("consume_timeout_s", _minutes),
    "maxReconsumeTimes": ("max_reconsume_times", int),
    "suspendCurrentQueueTimeMillis": ("suspend_s", seconds),
    "awaitTerminationMillisWhenShutdown": ("close_timeout_s", seconds),
    "postSubscriptionWhenPull": ("post_subscription", flag),
    "enableTrace": ("trace", flag),
    "traceTopic": ("trace_topic", str),
}

LITE_NAMES: Final[Names] = {
    **_BOTH,
    "autoCommit": ("auto_commit", flag),
    "autoCommitIntervalMillis": ("auto_commit_s", seconds),
    "pollTimeoutMillis": ("poll_timeout_s", seconds),
    "topicMetadataCheckIntervalMillis": ("queue_check_s", seconds),
}

POP_NAMES: Final[Names] = {
    "popInvisibleTime": ("invisible_s", seconds),
    "popBatchNums": ("count", int),
}
