"""Implements sends: attempts, batches, the choice of queues, and accumulation."""
