"""The tables of one broker: topics, groups, offsets, clients, locks, in-flight messages."""
