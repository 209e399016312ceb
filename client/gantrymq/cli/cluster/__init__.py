"""Commands about brokers, name servers and clusters."""
