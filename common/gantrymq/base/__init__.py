"""Defines values and limits that every layer shares, without RocketMQ's bytes and without I/O."""
