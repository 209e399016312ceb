"""A real Kubernetes cluster for tests, on one machine: `python -m cluster up`.

`cluster/README.md` tells how it is made; `docs/how-to/test-cluster.md` tells how to use it.
"""
