"""Wraps a listener so that it is not called again for a message that it has processed.

    store = SqlStore.at("seen.db")

    @once(store)
    async def charge(messages): ...

    consumer.subscribe("orders", "*", charge)

Guaranteed: after a listener has succeeded and the store knows it, no other delivery of that message
within `retention_s` reaches the listener. Of concurrent deliveries, in any process that shares the
store, one reaches the listener, and the others are delivered again later.

Not guaranteed: "exactly once". A process that dies after the listener succeeded and before the
store knows it leaves a claim. When the claim expires (`lease_s`), the message is processed again. A
claim is renewed while its listener is awaited, but not while a plain listener blocks the event loop
for longer than `lease_s`. A message that is sent twice has two ids: use `key=by_keys` if the
application's own keys identify it.

Each claim has an owner. A delivery that resumes after its lease, for example on a machine that was
suspended, neither renews nor releases the claim of the current owner.

A message is identified by its id (UNIQ_KEY), which retries keep. Stores are bounded by
`retention_s`.
"""

from gantrymq.client.once.listener import InProgressError, by_id, by_keys, once
from gantrymq.client.once.redis_store import RedisLike, RedisStore
from gantrymq.client.once.sql_store import SqlStore
from gantrymq.client.once.store import LEASE_S, RETENTION_S, Claim, OnceStore

__all__ = [
    "LEASE_S",
    "RETENTION_S",
    "Claim",
    "InProgressError",
    "OnceStore",
    "RedisLike",
    "RedisStore",
    "SqlStore",
    "by_id",
    "by_keys",
    "once",
]
