"""Runs the operator: work queue, controllers, kopf, probes, metrics, command line."""
