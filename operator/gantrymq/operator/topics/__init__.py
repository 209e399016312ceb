"""Topics of a cluster: a snapshot of resources and brokers in; broker calls and statuses out."""
