"""What is said of topics that are deleted and made again, held against a store."""

from __future__ import annotations

from typing import Final

import pytest

from gantrymq.fakes.brokers.replicated import Master
from gantrymq.fakes.stores.store import SETTINGS
from gantrymq.sim.checks.group_mirror import RENEWED, Mirror
from gantrymq.sim.group.group_renewed import Kept, Renewed
from gantrymq.testing.memory_disk import MemoryDisk

TOPIC: Final = f"{RENEWED.decode()}1"
NUMBER: Final = 1


def stored() -> tuple[Master, Mirror, Renewed]:
    """A member with two messages, and what a client knows of these."""
    disk = MemoryDisk()
    member, mirror, renewed = Master(disk), Mirror(SETTINGS.mapped_file_size_commit_log), Renewed()
    member.put(1, 2, topic=TOPIC)
    member.turn()
    for each in mirror.follow(disk, member.store.log.end):
        place = each.place
        kept = Kept(TOPIC, place.queue_id, place.offset, each.start, each.key)
        renewed.acknowledge(kept, 0)
    return member, mirror, renewed


def test_what_is_there_is_found() -> None:
    member, mirror, renewed = stored()
    assert renewed.must_be_in(NUMBER, member.store.queues, mirror) == 2
    renewed.must_go_on(NUMBER, member.store.queues, mirror)


def test_missing_topic_without_a_deletion_is_noticed() -> None:
    member, mirror, renewed = stored()
    member.store.delete_topic(TOPIC)
    member.turn()
    with pytest.raises(AssertionError, match="no queue"):
        renewed.must_be_in(NUMBER, member.store.queues, mirror)
    with pytest.raises(AssertionError, match="gives out 0"):
        renewed.must_go_on(NUMBER, member.store.queues, mirror)


def test_deleted_topic_is_not_required() -> None:
    member, mirror, renewed = stored()
    member.store.delete_topic(TOPIC)
    member.turn()
    renewed.delete(NUMBER, TOPIC)
    assert renewed.must_be_in(NUMBER, member.store.queues, mirror) == 0
    renewed.must_go_on(NUMBER, member.store.queues, mirror)
    with pytest.raises(AssertionError, match="gives out 0"):
        renewed.must_go_on(NUMBER + 1, member.store.queues, mirror)


def test_what_was_sent_before_a_deletion_does_not_count_behind_it() -> None:
    member, mirror, renewed = stored()
    late = renewed.kept[0]
    renewed.delete(NUMBER, TOPIC)
    renewed.acknowledge(late, 0)
    assert renewed.must_be_in(NUMBER, member.store.queues, mirror) == 0
