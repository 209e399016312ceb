"""Provides brokers, disks and clocks for tests of applications and of Gantry itself.

`embedded` runs a broker in the test's process in virtual time, `server` runs one in a process of
its own. `memory_disk` and `faulty_disk` keep files in memory; the second one fails as devices do.
"""
