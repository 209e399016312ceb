"""Watches of the Kubernetes API: caches of objects, kept up to date."""
