"""Changes of topics and groups: creation, expiry, attributes, routes, waiting for replicas."""
