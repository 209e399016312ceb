"""A small model of Kubernetes for tests of the operator's plan.

api          objects with versions, server-side apply, preconditions
controllers  StatefulSets, scheduler and kubelet: one step at a time
kubelets     the files that members read the replication secret from
members      brokers that elect their master by the Lease
world        one cluster on it: snapshots, steps, faults, and what must never happen
"""
