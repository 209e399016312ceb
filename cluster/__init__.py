"""Provides a real Kubernetes cluster for tests, on one machine: `python -m cluster up`.

`cluster/README.md` describes how it is built; `docs/how-to/test-cluster.md` how to use it.
"""
