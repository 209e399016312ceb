"""Runs container images without a cluster, as a pod of Kubernetes runs them."""
