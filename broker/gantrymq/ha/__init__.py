"""Replication and master election: protocol cores of masters, slaves and members, without I/O."""
