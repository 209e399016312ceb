"""Producers, consumers and administration of RocketMQ and Gantry clusters."""
