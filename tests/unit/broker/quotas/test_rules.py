"""Which limits apply to a name."""

from __future__ import annotations

from gantrymq.broker.core.quotas.rules import Allowed, QuotaRules
from gantrymq.fakes.brokers.quotas import CONSUME, PRODUCE, REQUESTS, quota
from gantrymq.wire.bodies.quotas import UNLIMITED, QuotaKind

USER, TOPIC = QuotaKind.USER, QuotaKind.TOPIC


def test_exact_name_goes_before_prefixes_and_default() -> None:
    rules = QuotaRules(
        [
            quota(USER, "*", {REQUESTS: 1}),
            quota(USER, "bill*", {REQUESTS: 2}),
            quota(USER, "billing*", {REQUESTS: 3}),
            quota(USER, "billing", {REQUESTS: 4}),
        ]
    )
    found = {
        name: rules.limits_of(USER, name)[REQUESTS]
        for name in ("billing", "billing-eu", "bills", "web")
    }
    assert found == {
        "billing": Allowed(4, "billing"),
        "billing-eu": Allowed(3, "billing*"),
        "bills": Allowed(2, "bill*"),
        "web": Allowed(1, "*"),
    }


def test_each_limit_comes_from_the_narrowest_quota_that_has_it() -> None:
    rules = QuotaRules(
        [quota(USER, "*", {REQUESTS: 1, PRODUCE: 2}), quota(USER, "web", {PRODUCE: 3, CONSUME: 4})]
    )
    assert rules.limits_of(USER, "web") == {
        REQUESTS: Allowed(1, "*"),
        PRODUCE: Allowed(3, "web"),
        CONSUME: Allowed(4, "web"),
    }


def test_limit_can_be_lifted_for_one_name() -> None:
    rules = QuotaRules(
        [quota(USER, "*", {REQUESTS: 1}), quota(USER, "root", {REQUESTS: UNLIMITED})]
    )
    assert rules.limits_of(USER, "root") == {}


def test_kinds_are_apart() -> None:
    rules = QuotaRules([quota(USER, "*", {REQUESTS: 1})])
    assert rules.limits_of(TOPIC, "web") == {}
    assert rules.has(USER)
    assert not rules.has(TOPIC)


def test_quota_is_replaced_and_removed_by_its_name() -> None:
    rules = QuotaRules([quota(USER, "*", {REQUESTS: 1}), quota(USER, "web", {REQUESTS: 2})])
    changed = rules.with_quota(quota(USER, "web", {REQUESTS: 5})).without(USER, "*")
    assert changed.quotas == (quota(USER, "web", {REQUESTS: 5}),)
