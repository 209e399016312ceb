"""Access to the Kubernetes API: requests, watches, leader election, and execution of plans."""
