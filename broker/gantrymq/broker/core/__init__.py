"""The broker's decision logic: it does no I/O and reads no clock."""
