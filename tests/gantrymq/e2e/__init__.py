"""Helpers of the tests on a real Kubernetes: kubectl, installations, load, faults and the audit."""
