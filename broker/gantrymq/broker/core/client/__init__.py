"""Connected clients: heartbeats, membership, queue locks and assignments."""
