"""The Kubernetes operator of Gantry: reconciles BrokerCluster and Topic resources."""
