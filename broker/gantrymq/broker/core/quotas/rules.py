"""Finds the limits that apply to a user, topic, group or address.

    exact name  ->  longest prefix  ->  shorter prefixes  ->  *

Each limit is searched separately: a quota without the limit leaves it to the next wider quota, and
one with -1 (unlimited) ends the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, final

from gantrymq.wire.bodies.quotas import UNLIMITED, Quota, QuotaKind, QuotaLimit


class Allowed(NamedTuple):
    """The amount of a limit, and the name of the quota that sets it."""

    amount: int
    source: str


@final
class QuotaRules:
    """All quotas of a broker; immutable, a change creates a new object."""

    __slots__ = ("_kinds", "quotas")

    def __init__(self, quotas: Sequence[Quota] = ()) -> None:
        self.quotas = tuple(sorted(quotas, key=lambda quota: (quota.kind, quota.name)))
        self._kinds = {
            kind: _RulesOfKind([quota for quota in quotas if quota.kind is kind])
            for kind in {quota.kind for quota in quotas}
        }

    def has(self, kind: QuotaKind) -> bool:
        """Whether there are quotas of this kind."""
        return kind in self._kinds

    def has_limit(self, limit: QuotaLimit) -> bool:
        """Whether any quota has this limit."""
        return any(limit in quota.limits for quota in self.quotas)

    def limits_of(self, kind: QuotaKind, name: str) -> Mapping[QuotaLimit, Allowed]:
        """The limits that apply to this name, without the unlimited ones."""
        rules = self._kinds.get(kind)
        return {} if rules is None else rules.limits_of(name)

    def find(self, kind: QuotaKind, name: str) -> Quota | None:
        """The quota with exactly this name, which may be a prefix."""
        return next(
            (quota for quota in self.quotas if quota.kind is kind and quota.name == name), None
        )

    def with_quota(self, changed: Quota) -> QuotaRules:
        """A copy with this quota, in place of the one with its name."""
        return QuotaRules([*self._others(changed.kind, changed.name), changed])

    def without(self, kind: QuotaKind, name: str) -> QuotaRules:
        return QuotaRules(self._others(kind, name))

    def _others(self, kind: QuotaKind, name: str) -> list[Quota]:
        return [quota for quota in self.quotas if (quota.kind, quota.name) != (kind, name)]


@final
class _RulesOfKind:
    """The quotas of one kind, by name and by prefix."""

    __slots__ = ("_exact", "_lengths", "_prefixes")

    def __init__(self, quotas: Sequence[Quota]) -> None:
        self._exact = {quota.name: quota for quota in quotas if not quota.name.endswith("*")}
        self._prefixes = {quota.name[:-1]: quota for quota in quotas if quota.name.endswith("*")}
        self._lengths = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)

    def limits_of(self, name: str) -> Mapping[QuotaLimit, Allowed]:
        found: dict[QuotaLimit, Allowed] = {}
        for quota in self._narrowest_first(name):
            for limit, amount in quota.limits.items():
                found.setdefault(limit, Allowed(amount, quota.name))
        return {limit: allowed for limit, allowed in found.items() if allowed.amount != UNLIMITED}

    def _narrowest_first(self, name: str) -> Iterator[Quota]:
        exact = self._exact.get(name)
        if exact is not None:
            yield exact
        for length in self._lengths:
            prefix = self._prefixes.get(name[:length]) if length <= len(name) else None
            if prefix is not None:
                yield prefix
