"""The broker process: configuration, network, Kubernetes and replication around the core."""
