"""Planning without I/O: a snapshot of a cluster in, actions with reasons and a status out."""
