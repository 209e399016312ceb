"""Consumption that the broker shares out, message by message: POP of RocketMQ 5."""
