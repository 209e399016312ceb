"""Bodies about consumption: queues, pops, progress, figures."""
