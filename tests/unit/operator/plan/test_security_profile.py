"""Tests that a cluster keeps the security profile that it was created with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gantrymq.operator.plan.actions import Json, Plan
from gantrymq.operator.resources.security import SecurityProfile
from gantrymq.operator_model.world import World


def world(default: SecurityProfile, **spec: Any) -> World:
    made = World(spec, nodes=3)
    made.defaults = replace(made.defaults, security_profile=default)
    return made


def profile(planned: Plan) -> str:
    return str(planned.status["securityProfile"])


def applied(planned: Plan) -> Json:
    conditions: list[Json] = planned.status["conditions"]
    return next(each for each in conditions if each["type"] == "ConfigurationApplied")


def test_a_new_cluster_has_the_profile_of_the_installation_unless_it_names_one() -> None:
    assert profile(world(SecurityProfile.SECURE).settle()) == "secure"
    assert profile(world(SecurityProfile.OPEN).settle()) == "open"
    named = world(SecurityProfile.SECURE, security={"profile": "open"})
    assert profile(named.settle()) == "open"


def test_another_default_of_the_operator_changes_no_existing_cluster() -> None:
    for before, after in (
        (SecurityProfile.OPEN, SecurityProfile.SECURE),
        (SecurityProfile.SECURE, SecurityProfile.OPEN),
    ):
        made = world(before)
        made.settle()
        made.defaults = replace(made.defaults, security_profile=after)
        assert made.plan().actions == ()
        assert profile(made.settle()) == before


def test_a_lost_status_does_not_change_the_profile() -> None:
    made = world(SecurityProfile.SECURE)
    made.settle()
    made.defaults = replace(made.defaults, security_profile=SecurityProfile.OPEN)
    resource = made.resource
    assert resource is not None
    del resource["status"]
    assert made.plan().actions == ()


def test_a_cluster_of_an_earlier_version_stays_open() -> None:
    made = world(SecurityProfile.OPEN)
    made.settle()
    resource = made.resource
    assert resource is not None
    del resource["status"]["securityProfile"]
    made.api.remove("StatefulSet", "orders-namesrv")
    made.api.remove("StatefulSet", "orders-broker-0")
    made.defaults = replace(made.defaults, security_profile=SecurityProfile.SECURE)
    assert profile(made.plan()) == "open"


def test_a_change_of_the_profile_is_reported_and_not_made() -> None:
    made = world(SecurityProfile.OPEN)
    made.settle()
    made.change(security={"profile": "secure"})
    planned = made.settle()
    assert profile(planned) == "open"
    assert applied(planned)["reason"] == "ChangeNotSupported"
    assert "set it back to open" in applied(planned)["message"]


def test_settings_that_the_default_profile_decides_are_reported() -> None:
    made = world(SecurityProfile.SECURE, config={"aclEnable": "false"}, replicationTls="accepted")
    message = applied(made.settle())["message"]
    assert "spec.config or spec.nameServerConfig has aclEnable" in message
    assert "spec.replicationTls is accepted" in message
