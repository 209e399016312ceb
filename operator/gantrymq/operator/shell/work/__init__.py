"""Reconciliation: the work queue, its runner, and the jobs."""
