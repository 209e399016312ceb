"""Planning of reads without I/O and clock: selection, ranges and tasks."""
