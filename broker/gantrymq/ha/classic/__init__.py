"""Replication in fixed roles, as RocketMQ's brokers speak it."""
