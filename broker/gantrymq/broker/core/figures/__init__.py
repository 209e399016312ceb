"""Counts of requests and messages, for metrics and RocketMQ's statistics."""
