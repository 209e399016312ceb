"""Speaks to the Kubernetes API: requests, reflectors, leader election, carrying out plans."""
