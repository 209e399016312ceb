"""Measures Gantry and Java RocketMQ in one run on one machine: `python -m bench --help`."""
