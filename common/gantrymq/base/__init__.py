"""Values and limits that every layer shares. Nothing here knows RocketMQ's bytes or any I/O."""
