"""Serves probes and metrics by HTTP, pushes metrics, and calls the Kubernetes API."""
