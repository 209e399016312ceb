"""Fakes of brokers whose accounts control access."""
