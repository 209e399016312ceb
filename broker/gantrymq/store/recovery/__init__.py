"""What of a store is on disk: flushes while it runs, and recovery when it starts."""
