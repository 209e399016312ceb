"""Limits how much each user, topic, group and address may send, consume, ask and keep."""
