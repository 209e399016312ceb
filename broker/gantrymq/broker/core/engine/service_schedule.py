"""Runs the periodic services, the tasks and the file writes of one broker when they are due.

    arrived      the listeners learn which queues have new messages for consumers
    run          everything that is due; `due` is then the time of the next run
    deadline     the same time, asked anew

To ask about twenty services costs more than a turn that only appends messages. So the broker relies
on `due` until something may have changed a deadline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from gantrymq.base.bounds import NEVER
from gantrymq.base.stalls import StallWatch
from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.engine.periodic_service import ArrivalListener, PeriodicService
from gantrymq.broker.core.engine.task_runner import TaskRunner
from gantrymq.broker.core.messages import Channel, Effects


@final
class ServiceSchedule:
    """The services that act without a request, and when. The `Broker` owns it."""

    __slots__ = (
        "_arrival_listeners",
        "_effects",
        "_files",
        "_stalls",
        "_task_runner",
        "_topic_listeners",
        "due",
        "periodic",
    )

    def __init__(
        self,
        task_runner: TaskRunner,
        files: Files,
        effects: Effects,
        stalls: StallWatch,
        *,
        periodic: Sequence[PeriodicService],
        arrival_listeners: Sequence[ArrivalListener],
        topic_listeners: Mapping[str, ArrivalListener],
    ) -> None:
        """`topic_listeners` has the listeners for messages of one topic, by its name."""
        self._task_runner: TaskRunner = task_runner
        self._files: Files = files
        self._effects: Effects = effects
        self._stalls: StallWatch = stalls
        self._arrival_listeners: Sequence[ArrivalListener] = arrival_listeners
        self._topic_listeners: Mapping[str, ArrivalListener] = topic_listeners
        self.periodic: Sequence[PeriodicService] = periodic
        self.due: float = 0.0
        """When `run` has something to do next, unless a deadline changes before."""

    def arrived(self, queues: Sequence[tuple[str, int]]) -> bool:
        """Notify the listeners that consumers can read more of these queues. Return whether a
        deadline may have changed."""
        has_changed = False
        for listener in self._arrival_listeners:
            if listener.arrived(queues):
                has_changed = True
        for queue in queues:
            topic_listener = self._topic_listeners.get(queue[0])
            if topic_listener is not None and topic_listener.arrived([queue]):
                has_changed = True
        return has_changed

    def run(self, now: float) -> bool:
        """Run the tasks and services that are due, and begin the file writes that are due. Return
        whether no task or service was due, so that no deadline has changed since it was asked."""
        is_settled = self._task_runner.deadline() > now
        self._task_runner.expire(now)
        stalls, began = self._stalls, self._stalls.now()
        due = NEVER
        for service in self.periodic:
            deadline = service.deadline()
            if deadline <= now:
                service.expire(now)
                began = stalls.ended(began, type(service).__name__)
                is_settled = False  # its work may have changed another service's deadline
            elif deadline < due:
                due = deadline
        for save in self._files.take_due(now):
            self._effects.add(save)
        stalls.ended(began, "contents of files to save")
        self.due = min(due, self._task_runner.deadline(), self._files.deadline())
        return is_settled

    def deadline(self) -> float:
        """When a task, a service or a file write is due next."""
        deadlines = [service.deadline() for service in self.periodic]
        deadlines += (self._task_runner.deadline(), self._files.deadline())
        return min(deadlines)

    def closed(self, channel: Channel) -> None:
        """A connection closed."""
        for service in self.periodic:
            service.closed(channel)
