"""Turns stored messages, as brokers send them, into Arrow record batches."""

from gantrymq.spark.frames.decoding import FrameError, decode

__all__ = ["FrameError", "decode"]
