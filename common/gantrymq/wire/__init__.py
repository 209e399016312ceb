"""RocketMQ's bytes and the values they stand for. Pure: bytes in, values out, and back."""
