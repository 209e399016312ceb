"""What must be true of the tables of a simulated group: its topics, and how far consumers are."""

from __future__ import annotations

from typing import final

from gantrymq.broker.core.state import State
from gantrymq.sim.checks.group_mirror import RENEWED
from gantrymq.sim.group.group_renewed import Renewed
from gantrymq.sim.group.group_world import World


@final
class TableChecks:
    """Those of one group."""

    def __init__(self, world: World) -> None:
        self.created_topics: set[str] = set()
        """An administrator was told that they are there."""
        self.renewed = Renewed()
        self._world = world

    def created(self, topic: str) -> None:
        """An administrator is told that it is there."""
        self._world.tally["topics created"] += 1
        if not topic.startswith(RENEWED.decode()):  # which may be deleted again when it is told
            self.created_topics.add(topic)

    def deletes(self, key: int, topic: str) -> None:
        """The process with this volume is asked to."""
        self._world.tally["topics to be deleted"] += 1
        self.renewed.delete(key, topic)

    def are_kept(self, number: int, state: State, *, is_excused: bool) -> None:
        """A new master knows all topics of which a client was told that they exist."""
        lacking = {each for each in self.created_topics if state.topics.find(each) is None}
        if is_excused:
            self.created_topics -= lacking
        assert not lacking & self.created_topics, f"member {number} leads without {sorted(lacking)}"

    def offsets_are_clamped(self, number: int, state: State) -> None:
        """No group is ahead of what there is."""
        for group, topic, queues in state.offsets.places():
            for queue_id, offset in queues.items():
                queue = state.store.queues.find(topic, queue_id)
                end = 0 if queue is None else queue.end
                assert offset <= end, (
                    f"member {number} leads, {group} is at {offset} of {topic} {queue_id},"
                    f" which ends at {end}"
                )
