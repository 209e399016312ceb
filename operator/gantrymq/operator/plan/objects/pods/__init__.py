"""Workloads and their pods: brokers and name servers."""
