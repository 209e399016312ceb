"""The `gantry` command line: administration, produce, consume, doctor, over the client library."""
