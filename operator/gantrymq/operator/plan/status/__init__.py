"""The status of a BrokerCluster: obstacles, conditions, columns."""
