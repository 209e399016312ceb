"""Builds a consumer's reports for operators, in Java's JSON.

ConsumerRunningInfo and ConsumeMessageDirectlyResult:

    {"mqPopTable":{},"mqTable":{MQ:ProcessQueueInfo},"properties":{"PROP_CONSUME_TYPE":…},
     "statusTable":{topic:ConsumeStatus},"subscriptionSet":[SubscriptionData],"userConsumerInfo":{}}
    {"autoCommit":true,"consumeResult":"CR_SUCCESS","order":false,"remark":"…","spentTimeMills":3}

Times are wall clock times, as in Java. The rates of ConsumeStatus are not measured and are 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gantrymq.client.core.group.process_queue import ProcessQueue
from gantrymq.client.core.message.outcomes import COMMIT, ROLLBACK, SUCCESS, Later, Suspend
from gantrymq.client.core.pull.lite_queue import LiteQueue
from gantrymq.client.core.safe_text import text_of
from gantrymq.wire.bodies.heartbeat import SubscriptionData
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import Json, JsonObject

MEBI: Final = 1 << 20


def queue_info(process_queue: ProcessQueue, now: float, wall_ms: int) -> JsonObject:
    """Return ProcessQueueInfo of a push consumer's queue."""

    def at(moment: float | None) -> int:
        return 0 if moment is None else wall_ms - round((now - moment) * 1000)

    smallest, largest, count = process_queue.pending() or (0, 0, 0)
    return {
        "cachedMsgCount": count,
        "cachedMsgMaxOffset": largest,
        "cachedMsgMinOffset": smallest,
        "cachedMsgSizeInMiB": process_queue.bytes // MEBI,
        "commitOffset": process_queue.commit_offset or 0,
        "droped": process_queue.is_dropped,
        "lastConsumeTimestamp": at(process_queue.settled_at),
        "lastLockTimestamp": at(process_queue.locked_at),
        "lastPullTimestamp": at(process_queue.pulled_at),
        "locked": process_queue.is_locked(now),
        "transactionMsgCount": 0,
        "transactionMsgMaxOffset": 0,
        "transactionMsgMinOffset": 0,
        "tryUnlockTimes": 0,
    }


def lite_queue_info(queue: LiteQueue, now: float, wall_ms: int) -> JsonObject:
    """Return ProcessQueueInfo of a pull consumer's queue, which records no times."""
    unknown = ProcessQueue(queue.queue, now)
    smallest, largest, count, size = queue.waiting
    return {
        **queue_info(unknown, now, wall_ms),
        "cachedMsgCount": count,
        "cachedMsgMaxOffset": largest,
        "cachedMsgMinOffset": smallest,
        "cachedMsgSizeInMiB": size // MEBI,
        "commitOffset": queue.consumed or 0,
        "lastConsumeTimestamp": 0,
        "lastPullTimestamp": 0,
    }


def running_info(
    queues: Mapping[MessageQueue, JsonObject],
    properties: Mapping[str, str],
    subscriptions: Iterable[SubscriptionData],
    failures: Mapping[str, int],
) -> JsonObject:
    """Return ConsumerRunningInfo; `queues` has the results of `queue_info` or `lite_queue_info`."""
    subscribed = [each.to_json() for each in subscriptions]
    table: JsonObject = {queue.to_key(): queues[queue] for queue in sorted(queues)}
    statuses: JsonObject = {
        str(each["topic"]): {
            "consumeFailedMsgs": failures.get(str(each["topic"]), 0),
            "consumeFailedTPS": 0.0,
            "consumeOKTPS": 0.0,
            "consumeRT": 0.0,
            "pullRT": 0.0,
            "pullTPS": 0.0,
        }
        for each in subscribed
    }
    own: JsonObject = dict(properties.items())
    listed: list[Json] = [*subscribed]
    return {
        "mqPopTable": {},
        "mqTable": table,
        "properties": own,
        "statusTable": statuses,
        "subscriptionSet": listed,
        "userConsumerInfo": {},
    }


def directly_result(
    outcome: object, error: Exception | None, spent_ms: int, *, is_orderly: bool, auto_commit: bool
) -> JsonObject:
    """Return the result of CONSUME_MESSAGE_DIRECTLY."""
    bean: JsonObject = {
        "autoCommit": auto_commit,
        "consumeResult": _result_name(outcome, error),
        "order": is_orderly,
    }
    if error is not None:
        bean["remark"] = text_of(error)
    bean["spentTimeMills"] = spent_ms
    return bean


def _result_name(outcome: object, error: Exception | None) -> str:
    if error is not None:
        return "CR_THROW_EXCEPTION"
    if outcome is None or outcome is SUCCESS:
        return "CR_SUCCESS"
    if isinstance(outcome, Later | Suspend):
        return "CR_LATER"
    if outcome is COMMIT:
        return "CR_COMMIT"
    return "CR_ROLLBACK" if outcome is ROLLBACK else "CR_RETURN_NULL"
