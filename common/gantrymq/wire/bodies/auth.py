"""Defines the users and policies of RocketMQ 5 as requests 3001 to 3010 carry them.

UserInfo  {"password":"p","userStatus":"enable","userType":"Normal","username":"orders"}
AclInfo   {"policies":[{"entries":[{"actions":["Pub","Sub"],"decision":"Allow",
            "resource":"Topic:Orders*","sourceIps":["10.0.0.0/8"]}],"policyType":"Custom"}],
           "subject":"User:orders"}

Absent members are null, and null members are not written, as in fastjson. Two members of UserInfo
are Gantry's: `oldPasswordSeconds` in an update says how long the replaced password stays valid, and
`oldPasswordUntil` in a response says when the previous password expires. Java ignores both.
"""

from __future__ import annotations

from dataclasses import field

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    list_of,
    long_of,
    object_of,
    text_field,
    text_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInfo:
    """One user. Gantry's servers never send a password in a response."""

    username: str | None = None
    password: str | None = field(default=None, repr=False)
    user_type: str | None = None
    user_status: str | None = None
    old_password_seconds: int | None = None
    old_password_until: int | None = None
    """Milliseconds since 1970; -1 means until it is removed."""

    @classmethod
    def from_json(cls, value: Json) -> UserInfo:
        bean = object_of(value, "UserInfo")
        return cls(
            username=text_field(bean, "username"),
            password=text_field(bean, "password"),
            user_type=text_field(bean, "userType"),
            user_status=text_field(bean, "userStatus"),
            old_password_seconds=_optional_long(bean, "oldPasswordSeconds"),
            old_password_until=_optional_long(bean, "oldPasswordUntil"),
        )

    def to_json(self) -> JsonObject:
        return _without_nulls(
            {
                "oldPasswordSeconds": self.old_password_seconds,
                "oldPasswordUntil": self.old_password_until,
                "password": self.password,
                "userStatus": self.user_status,
                "userType": self.user_type,
                "username": self.username,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEntryInfo:
    """Actions that are allowed or denied on one resource, and the source addresses."""

    resource: str | None = None
    actions: tuple[str, ...] = ()
    source_ips: tuple[str, ...] = ()
    decision: str | None = None

    @classmethod
    def from_json(cls, value: Json) -> PolicyEntryInfo:
        bean = object_of(value, "PolicyEntryInfo")
        return cls(
            resource=text_field(bean, "resource"),
            actions=_texts(bean, "actions"),
            source_ips=_texts(bean, "sourceIps"),
            decision=text_field(bean, "decision"),
        )

    def to_json(self) -> JsonObject:
        return _without_nulls(
            {
                "actions": [*self.actions],
                "decision": self.decision,
                "resource": self.resource,
                "sourceIps": [*self.source_ips] or None,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInfo:
    """The entries of one policy type, Custom or Default."""

    policy_type: str | None = None
    entries: tuple[PolicyEntryInfo, ...] = ()

    @classmethod
    def from_json(cls, value: Json) -> PolicyInfo:
        bean = object_of(value, "PolicyInfo")
        entries = list_of(bean.get("entries"), "entries")
        return cls(
            policy_type=text_field(bean, "policyType"),
            entries=tuple(map(PolicyEntryInfo.from_json, entries)),
        )

    def to_json(self) -> JsonObject:
        entries: Json = [entry.to_json() for entry in self.entries]
        return _without_nulls({"entries": entries, "policyType": self.policy_type})


@dataclass(frozen=True, slots=True, kw_only=True)
class AclInfo:
    """The policies of one subject, `User:name`."""

    subject: str | None = None
    policies: tuple[PolicyInfo, ...] = ()

    @classmethod
    def from_json(cls, value: Json) -> AclInfo:
        bean = object_of(value, "AclInfo")
        policies = list_of(bean.get("policies"), "policies")
        return cls(
            subject=text_field(bean, "subject"),
            policies=tuple(map(PolicyInfo.from_json, policies)),
        )

    def to_json(self) -> JsonObject:
        policies: Json = [policy.to_json() for policy in self.policies]
        return _without_nulls({"policies": policies, "subject": self.subject})


def _texts(bean: JsonObject, name: str) -> tuple[str, ...]:
    return tuple(text_of(each, name) for each in list_of(bean.get(name), name))


def _optional_long(bean: JsonObject, name: str) -> int | None:
    value = bean.get(name)
    return None if value is None else long_of(value, name)


def _without_nulls(bean: JsonObject) -> JsonObject:
    return {name: value for name, value in bean.items() if value is not None}
