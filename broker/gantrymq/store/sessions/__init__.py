"""Producer sessions: numbered streams of messages, each of which the store keeps once."""
