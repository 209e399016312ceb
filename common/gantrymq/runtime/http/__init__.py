"""HTTP: probes, pages of metrics, pushes of metrics, the Kubernetes API."""
