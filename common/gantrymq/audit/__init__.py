"""Defines the audit trail: which requests are recorded and what an entry contains, without I/O."""
