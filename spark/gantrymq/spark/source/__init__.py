"""The read side of the format: queues, offsets, tasks, and the progress of streams."""
