"""Kills the master twice while a bulk sender writes, and repeats the run.

Three real brokers elect their master. Each row is stored once, in its queue's order.
"""

from __future__ import annotations

import threading
from pathlib import Path

from gantrymq.client.blocking import Admin
from gantrymq.client.bulk import BulkSettings
from gantrymq.client.bulk.outgoing import Origin, OutgoingMessage
from gantrymq.client.bulk.sender import BulkSender, SendLimits
from gantrymq.crash.member_group import TOPIC, MemberGroup
from gantrymq.fakes.stores.stored_bodies import stored_bodies

ROWS = 40_000
QUEUES = 4
# A run takes 40 s: long enough for two failovers in its midst.
LIMITS = SendLimits(batch_bytes=4_000, messages_per_second=1_000)
FAST = SendLimits(batch_bytes=4_000)
BETWEEN_SECONDS = 4.0


class Run:
    """The rows of one epoch, sent in a thread."""

    def __init__(self, names: str, limits: SendLimits) -> None:
        self.repeats = 0
        self.failure: BaseException | None = None
        self._limits = limits
        self._settings = BulkSettings(name_servers=(names,), group="load", recover_s=90.0)
        self._thread = threading.Thread(target=self._run, name="bulk sender")
        self._thread.start()

    @property
    def is_under_way(self) -> bool:
        return self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            origin = Origin("load-1", 0, 0)
            with BulkSender(self._settings, origin, self._limits, is_idempotent=True) as sender:
                layout = sender.layout(TOPIC)
                for row in range(ROWS):
                    sender.send(OutgoingMessage(b"%d" % row), layout.by_number(row))
                sender.flush()
                self.repeats = sender.repeats
        except BaseException as error:
            self.failure = error


def test_failovers_in_a_run_that_is_repeated_store_each_row_once(
    tmp_path: Path, figures: list[str]
) -> None:
    with MemberGroup(tmp_path) as group:
        group.start()
        with Admin(name_servers=group.names.address) as admin:
            admin.create_topic(TOPIC, queues=QUEUES)
        run = Run(group.names.address, LIMITS)
        failovers = 0
        for _ in range(2):
            run.wait(BETWEEN_SECONDS)
            old = group.master
            old.kill()
            group.wait_until_led(not_by=old.number)
            failovers += run.is_under_way
            old.start()
            group.wait_until_well()
        run.wait()
        assert run.failure is None
        assert failovers == 2
        again = Run(group.names.address, FAST)
        again.wait()
        assert again.failure is None
        assert again.repeats == ROWS
        stored = stored_bodies(group.names.address, TOPIC)
    for queue, bodies in stored.items():
        assert [int(body) for body in bodies] == list(range(queue, ROWS, QUEUES))
    figures.append(f"idempotent sender: {ROWS} rows over {failovers} failovers, stored once each")
