"""Encodes and decodes RocketMQ's bytes. Pure: bytes in, values out, and back."""
