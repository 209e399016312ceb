"""Implements POP of RocketMQ 5: the broker distributes messages one by one."""
