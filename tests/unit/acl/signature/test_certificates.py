"""Tests the rules that map certificates to accounts."""

from __future__ import annotations

import pytest

from gantrymq.acl.signature.certificates import account_of, parse_rules
from gantrymq.base.errors import ConfigurationError


@pytest.mark.parametrize(
    ("rules", "names", "account"),
    [
        ("CN:orders=o", ["CN:orders"], "o"),
        ("CN:orders=o", ["CN:orders2"], None),
        ("CN:orders=o", ["DNS:orders"], None),
        ("DNS:*.svc=o", ["CN:x", "DNS:a.svc"], "o"),
        ("DNS:*.svc=o", ["DNS:.svc"], None),
        ("URI:spiffe://prod/*=*", ["URI:spiffe://prod/billing"], "billing"),
        ("CN:*=*", ["CN:anyone"], "anyone"),
        ("CN:a=first; CN:*=second", ["CN:a"], "first"),
        ("CN:b=first; CN:*=second", ["CN:a"], "second"),
        ("URI:a=b=c", ["URI:a=b"], "c"),
        ("", ["CN:a"], None),
    ],
)
def test_first_rule_that_matches_decides(rules: str, names: list[str], account: str | None) -> None:
    assert account_of(parse_rules(rules), names) == account


@pytest.mark.parametrize(
    "text", ["orders=o", "CN:=o", "CN:orders=", "XX:a=b", "CN:*.*=a", "CN:a=*"]
)
def test_incomplete_rule_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_rules(text)
