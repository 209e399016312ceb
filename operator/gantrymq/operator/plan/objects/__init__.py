"""The Kubernetes objects of a cluster, as the operator wants them."""
