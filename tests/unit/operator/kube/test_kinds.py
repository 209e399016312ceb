"""Tests the API paths of kinds and objects."""

from __future__ import annotations

import pytest

from gantrymq.operator.kube import kinds
from gantrymq.operator.plan.actions import ObjectRef


def test_core_kinds_are_below_api_and_others_below_apis() -> None:
    assert kinds.POD.path("one", "a") == "/api/v1/namespaces/one/pods/a"
    assert kinds.POD.collection() == "/api/v1/pods"
    assert kinds.TOPIC.path("one", "a") == "/apis/gantrymq.dev/v1/namespaces/one/topics/a"


def test_kinds_without_namespaces_leave_them_out() -> None:
    assert kinds.NODE.path("", "node-1") == "/api/v1/nodes/node-1"
    assert kinds.NODE.collection("one") == "/api/v1/nodes"


def test_an_object_is_found_by_its_body_or_its_reference() -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "one", "name": "s"}}

    assert kinds.path_of_body(body) == "/api/v1/namespaces/one/secrets/s"
    assert kinds.path_of_ref(ObjectRef("v1", "Secret", "one", "s")) == kinds.path_of_body(body)


def test_an_unknown_kind_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        kinds.kind_named("v1", "Deployment")
