"""Handles GET_BROKER_RUNTIME_INFO: Java's table of figures, as texts in Java's form.

Tools look for the keys of threads and buffers that only Java has, so these keys are present, with
the figures of an idle broker. Latencies cover the last minute and run from the moment the store
takes a send to its answer. The two longest times cover all the time since the start, and a pull
that is read from memory counts as 0 ms. The figures of the send queue are about sends that wait for
the store; the figures of the query queue are about all other requests that wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from gantrymq.base.disk import DiskError, Usage
from gantrymq.broker.core.engine.tasks import Task, read
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.names.system_topics import SCHEDULE_TOPIC
from gantrymq.broker.core.processor.handler import BoundHandlers, Handler
from gantrymq.broker.core.responses import done_json
from gantrymq.broker.core.schedule.delays import DelayService
from gantrymq.broker.core.schedule.timer_service import TimerService
from gantrymq.broker.core.schedule.timers import TOPIC as TIMER_TOPIC
from gantrymq.broker.core.services import Services
from gantrymq.broker.core.state import State
from gantrymq.store.layout import COMMIT_LOG, CONSUME_QUEUE
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.lookups import first_store_time, queue_bounds
from gantrymq.wire.bodies.kv import kv_table_to_json
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.javajson import java_double
from gantrymq.wire.version import OWN_VERSION, version_name

_ABSENT_HERE: Final[Mapping[str, str]] = {
    "EndTransactionQueueSize": "0",
    "EndTransactionThreadPoolQueueCapacity": "100000",
    "ackThreadPoolQueueCapacity": "100000",
    "ackThreadPoolQueueHeadWaitTimeMills": "0",
    "ackThreadPoolQueueSize": "0",
    "dispatchMaxBuffer": "0",
    "litePullThreadPoolQueueCapacity": "100000",
    "litePullThreadPoolQueueHeadWaitTimeMills": "0",
    "litePullThreadPoolQueueSize": "0",
    "pageCacheLockTimeMills": "0",
    "pullThreadPoolQueueCapacity": "100000",
    "pullThreadPoolQueueHeadWaitTimeMills": "0",
    "pullThreadPoolQueueSize": "0",
    "queryThreadPoolQueueCapacity": "20000",
    "queryThreadPoolQueueHeadWaitTimeMills": "0",
    "remainTransientStoreBufferNumbs": "2147483647",
    "sendThreadPoolQueueCapacity": "10000",
}
_DISTRIBUTION: Final = (
    *("<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s"),
    *("1~2s", "2~3s", "3~4s", "4~5s", "5~10s", "10s~"),
)


def runtime_info(
    delay_service: DelayService, timer_service: TimerService, state: State, request: Request
) -> Task[Outcome]:
    earliest_ms = yield from read(first_store_time(state.store))
    levels = yield from read(_delay_levels(delay_service, state))
    table = {
        **_ABSENT_HERE,
        **_broker(state),
        **_puts_and_gets(state),
        **_store(state),
        **_timers(timer_service, state),
        **levels,
        "earliestMessageTimeStamp": str(earliest_ms),
    }
    return done_json(kv_table_to_json(table))


def _broker(state: State) -> dict[str, str]:
    admission = state.admission
    return {
        "bootTimestamp": str(state.started_ms),
        "brokerActive": "true" if state.identity.is_master else "false",
        "brokerVersion": str(OWN_VERSION),
        "brokerVersionDesc": version_name(OWN_VERSION),
        "queryThreadPoolQueueSize": str(max(0, len(state.task_runner) - admission.waiting)),
        "runtime": uptime(state.wall_ms - state.started_ms),
        "sendThreadPoolQueueHeadWaitTimeMills": str(int(admission.head_wait(state.now) * 1000)),
        "sendThreadPoolQueueSize": str(admission.waiting),
        "startAcceptSendRequestTimeStamp": str(state.settings.start_accept_send_request_time_stamp),
        "totalMemKBytes": str(state.memory_bytes >> 10),
    }


def _puts_and_gets(state: State) -> dict[str, str]:
    stats = state.stats
    totals, mornings = stats.totals, stats.mornings
    puts, found, missed, transferred = stats.averages()
    latency = state.admission.latency
    return {
        "getFoundTps": found,
        "getMessageEntireTimeMax": str(int(stats.longest_read_ms)),
        "getMissTps": missed,
        "getTotalTps": stats.pulls_per_second(),
        # Both spellings: 4.9 asks for the one, 5.x for the other.
        "getTransferedTps": transferred,
        "getTransferredTps": transferred,
        "msgGetTotalTodayMorning": str(mornings.gets_today),
        "msgGetTotalTodayNow": str(totals.plain_transferred),
        "msgGetTotalYesterdayMorning": str(mornings.gets_yesterday),
        "msgPutTotalTodayMorning": str(mornings.puts_today),
        "msgPutTotalTodayNow": str(totals.plain_puts),
        "msgPutTotalYesterdayMorning": str(mornings.puts_yesterday),
        "putLatency99": f"{latency.share(0.99, state.now):.2f}",
        "putLatency999": f"{latency.share(0.999, state.now):.2f}",
        "putMessageAverageSize": java_double(totals.put_bytes / max(1, totals.puts)),
        "putMessageDistributeTime": distribution(latency.distribution(state.now)),
        "putMessageEntireTimeMax": str(int(latency.longest_ms)),
        "putMessageFailedTimes": str(totals.put_failures),
        "putMessageSizeTotal": str(totals.put_bytes),
        "putMessageTimesTotal": str(totals.puts),
        "putTps": puts,
    }


def _store(state: State) -> dict[str, str]:
    store = state.store
    log, root = store.log, store.settings.store_path_root_dir
    usage = _usage(state, COMMIT_LOG)
    ratio = used_ratio(usage)
    table = {
        "commitLogDiskRatio": ratio,
        f"commitLogDiskRatio_{root.rstrip('/')}/{COMMIT_LOG}" if root else "": ratio,
        "commitLogMaxOffset": str(log.end),
        "commitLogMinOffset": str(log.start),
        "consumeQueueDiskRatio": used_ratio(_usage(state, CONSUME_QUEUE)),
        "dispatchBehindBytes": str(store.dispatch_behind),
        "remainHowManyDataToFlush": human_bytes(max(0, log.end - store.queues.log_flushed)),
    }
    table.pop("", None)
    if usage is not None:
        table["commitLogDirCapacity"] = capacity(usage)
    return table


def _timers(timers: TimerService, state: State) -> dict[str, str]:
    """How many timers wait, how many are not in the calendar yet, and how late deliveries are."""
    return {
        "timerCongestNum": str(timers.count),
        "timerDequeueTps": java_double(timers.deliveries.per_second(state.stats.age)),
        "timerEnqueueTps": java_double(state.stats.put_tps(TIMER_TOPIC)),
        "timerOffsetBehind": str(timers.untaken),
        "timerReadBehind": str(timers.late_ms(state.wall_ms) // 1000),
    }


def _delay_levels(delay_service: DelayService, state: State) -> ReadTask[dict[str, str]]:
    """For each level that has a queue, the next offset to deliver and the end of the queue."""
    store = state.store
    table = {}
    for queue_id in store.queues.queue_ids(SCHEDULE_TOPIC):
        bounds = yield from queue_bounds(store, SCHEDULE_TOPIC, queue_id)
        if bounds is not None:
            level = queue_id + 1
            table[f"scheduleMessageOffset_{level}"] = (
                f"{delay_service.offset(level)},{bounds.maximum}"
            )
    return table


def _usage(state: State, folder: str) -> Usage | None:
    try:
        return state.store.disk.usage(folder)
    except DiskError:
        return None


def distribution(counts: Sequence[int] | None) -> str:
    """The number of sends in each class of times; "null" in the first minute, as in Java."""
    if counts is None:
        return "null"
    return "".join(f"[{name}]:{count} " for name, count in zip(_DISTRIBUTION, counts, strict=True))


def capacity(usage: Usage) -> str:
    """The size of the disk and its free space. As in Java, both include the space that is reserved
    for root."""
    reserved = usage.reserved_bytes
    total = human_bytes(usage.total_bytes + reserved)
    free = human_bytes(usage.free_bytes + reserved)
    return f"Total : {total}, Free : {free}."


def used_ratio(usage: Usage | None) -> str:
    """From 0 to 1, in whole percents rounded up; -1.0 when it is unknown, as in Java."""
    if usage is None or usage.total_bytes <= 0:
        return "-1.0"
    percents = -(100 * (usage.free_bytes - usage.total_bytes) // usage.total_bytes)
    return java_double(percents / 100)


def uptime(milliseconds: int) -> str:
    """The uptime in Java's format."""
    minutes, seconds = divmod(max(0, milliseconds) // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"


def human_bytes(count: int) -> str:
    """A size in Java's format: 401 B, 222.5 GiB."""
    if count < 1024:
        return f"{count} B"
    power = min(6, (count.bit_length() - 1) // 10)
    return f"{count / (1 << 10 * power):.1f} {'KMGTPE'[power - 1]}iB"


def _bound_runtime_info(services: Services) -> Handler:
    return partial(runtime_info, services.delay_service, services.timer_service)


BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.GET_BROKER_RUNTIME_INFO: _bound_runtime_info,
}
