"""Reconciliation: the work queue, its runner, and what it works on."""
