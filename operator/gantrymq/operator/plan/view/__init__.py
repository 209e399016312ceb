"""What a snapshot says of a cluster: members, Leases, nodes."""
