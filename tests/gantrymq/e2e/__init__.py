"""What the tests on a real Kubernetes share: kubectl, installations, load, faults and the audit."""
