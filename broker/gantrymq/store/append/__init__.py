"""Appends messages to the log in one group a turn, and answers the sends.

`WriteBatcher` collects the group, `Kernel` makes records of plain sends without decoding them,
`Waiters` answers sends when disk or followers have them, and `ReplicaAppender` appends the bytes of
a master's log.
"""
