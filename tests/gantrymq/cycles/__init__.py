"""Real brokers that elect their master, each in a network of its own, struck again and again.

enclosure   namespaces in which a run happens, and with which all of it is gone
network     hosts, a bridge between them, and what is cut
disk        a partition of limited size that can be filled
group       the members, the lease API, the name server
service     the group's one address
load        producers and consumers at work: Java's (CycleDriver.java) and ours (python_clients)
records     what they tell: one record for each send and each delivery
told        all of it, as it comes
faults      what is done to a group, and how it is mended
plan        which faults, in which order, from a seed
cycle       one fault from the strike until all is well, measured
gaps        times without a message
ledger      what was acknowledged where, and what consumers were given
audit       what the logs and the queues have, against the ledger
judgement   figures of many cycles, and the bounds they are held against
outcome     what a run hands back
run         the program within the enclosure
"""
