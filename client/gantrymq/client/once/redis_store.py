"""Provides an `OnceStore` in Redis, whose keys expire by themselves."""

from __future__ import annotations

from typing import Final, Protocol, final

from gantrymq.client.once.store import LEASE_S, RETENTION_S, Claim


class RedisLike(Protocol):
    """The methods of redis.Redis that the store uses."""

    def set(self, name: str, value: str, *, nx: bool = False, px: int | None = None) -> object: ...

    def get(self, name: str) -> object: ...

    def eval(self, script: str, numkeys: int, *keys_and_args: str) -> object: ...


_DONE: Final = "done"

# Scripts compare and change in one step, because a claim may expire in between and get another
# owner.
_RENEW: Final = """if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0"""
_RELEASE: Final = """if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1])
end
return 0"""


@final
class RedisStore:
    """A store of keys with a prefix, which expire by themselves. If Redis loses a key, by an
    eviction or a failover, the message is processed again."""

    def __init__(
        self,
        redis: RedisLike,
        *,
        prefix: str = "gantry:once:",
        retention_s: float = RETENTION_S,
        lease_s: float = LEASE_S,
    ) -> None:
        self._redis = redis
        self._prefix = prefix
        self.lease_s = lease_s
        self._retention_ms = round(retention_s * 1000)
        self._lease_ms = round(lease_s * 1000)

    def claim(self, key: str, owner: str) -> Claim:
        name = self._prefix + key
        if self._redis.set(name, _claimed(owner), nx=True, px=self._lease_ms):
            return Claim.NEW
        known = self._redis.get(name)
        return Claim.DONE if known in {_DONE, _DONE.encode()} else Claim.BUSY

    def renew(self, key: str, owner: str) -> bool:
        name, lease_ms = self._prefix + key, str(self._lease_ms)
        return bool(self._redis.eval(_RENEW, 1, name, _claimed(owner), lease_ms))

    def done(self, key: str) -> None:
        self._redis.set(self._prefix + key, _DONE, px=self._retention_ms)

    def release(self, key: str, owner: str) -> None:
        self._redis.eval(_RELEASE, 1, self._prefix + key, _claimed(owner))


def _claimed(owner: str) -> str:
    return f"claimed by {owner}"
