"""The resource BrokerCluster: spec, pods, rules and status."""
