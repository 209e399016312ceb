"""Connected clients: notifications of groups, evictions, assignment of queues."""
