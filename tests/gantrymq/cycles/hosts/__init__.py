"""Hosts, networks, disks and faults of a run."""
