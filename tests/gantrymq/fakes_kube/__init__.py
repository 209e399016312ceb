"""Provides a Kubernetes API server and a cluster for tests of the operator."""
