"""Defines users and policies of RocketMQ 5: the table, its file, and the rights of a user."""
