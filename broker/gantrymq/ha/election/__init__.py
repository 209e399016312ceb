"""Elections and leases: who may become master, and for how long."""
