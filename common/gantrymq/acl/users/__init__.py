"""Users and policies of RocketMQ 5: the table, its file, and what a user may do."""
