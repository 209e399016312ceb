"""Watches of the Kubernetes API, and the caches that they keep up to date."""
