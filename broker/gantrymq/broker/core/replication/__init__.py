"""The role of the broker, and the replication of its tables."""
