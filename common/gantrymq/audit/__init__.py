"""The audit trail: what is recorded of a change, without I/O."""
