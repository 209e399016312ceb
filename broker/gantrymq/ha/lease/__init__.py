"""The objects of a group in Kubernetes: Lease, EndpointSlice, Service."""
