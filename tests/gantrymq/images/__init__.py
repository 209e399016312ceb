"""Runs container images without a cluster, the way that a pod of Kubernetes runs them."""
