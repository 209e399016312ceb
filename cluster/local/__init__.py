"""Runs the local cluster: a control plane of host processes, and nodes made of namespaces."""
