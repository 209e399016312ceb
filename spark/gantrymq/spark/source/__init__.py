"""Reading: which queues, from where to where, in which tasks, and how far a stream is."""
