"""Access control as RocketMQ 4 has it: accounts, address lists, signatures, and who may do what."""
