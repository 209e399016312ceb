"""Requests of producers: sends, replies, messages sent back, transactions, recalls."""
