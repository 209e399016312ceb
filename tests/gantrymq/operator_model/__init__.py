"""Models Kubernetes for tests of the operator's plan."""
