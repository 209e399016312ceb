"""Connections of replication: slaves, masters and members of a group."""
