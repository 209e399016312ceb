"""A member of a group at work: its host, its Lease and its EndpointSlice."""
