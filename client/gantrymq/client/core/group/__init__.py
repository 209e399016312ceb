"""Consumer groups: members, queues, locks, offsets."""
