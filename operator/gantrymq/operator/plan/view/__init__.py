"""Views of a snapshot: members, Leases, nodes."""
