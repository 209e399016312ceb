"""What the status of a BrokerCluster says: obstacles, conditions, columns."""
