"""Tests that every served request is audited, or that a reason says why it is not."""

from __future__ import annotations

from gantrymq.acl.requests.needs import BROKER_ADMIN
from gantrymq.acl.requests.needs import NAME_SERVER_REQUESTS as FOR_CLIENTS
from gantrymq.audit.actions import ACTIONS, NOT_AUDITED
from gantrymq.broker.core.processor.admin import unsupported
from gantrymq.broker.core.processor.audit.audited_values import VIEWS
from gantrymq.broker.core.processor.requests import REQUEST_CODES as BROKER_REQUESTS
from gantrymq.namesrv.core.audit_trail import VIEWS as NAME_SERVER_VIEWS
from gantrymq.namesrv.core.requests import REQUESTS as NAME_SERVER_REQUESTS
from gantrymq.wire.codes import RequestCode

SERVED = {*BROKER_REQUESTS, *NAME_SERVER_REQUESTS} - {*unsupported.REASONS}

# These need an administrator but change nothing worth an entry.
PRIVILEGED_READS = {"GET_BROKER_CLUSTER_ACL_CONFIG", "GET_NAMESRV_CONFIG", "QUERY_DATA_VERSION"}
# Brokers send these every few seconds.
PRIVILEGED_PRESENCE = {"REGISTER_BROKER", "BROKER_HEARTBEAT"}


def test_each_served_request_is_in_one_table() -> None:
    assert not {*ACTIONS} & {*NOT_AUDITED}
    assert {*ACTIONS} | {*NOT_AUDITED} >= SERVED


def test_administrators_requests_are_audited() -> None:
    privileged = {*BROKER_ADMIN} | ({*NAME_SERVER_REQUESTS} - {*FOR_CLIENTS})
    unaudited = privileged & {*NOT_AUDITED}
    names = {RequestCode(code).name for code in unaudited}
    reads = {name for name in names if "GET" in name or "LIST" in name or "QUERY" in name}
    assert names - reads <= PRIVILEGED_PRESENCE
    assert reads >= PRIVILEGED_READS


def test_actions_that_promise_values_have_a_view() -> None:
    promising = {code for code, action in ACTIONS.items() if action.values}
    assert promising <= {*VIEWS, *NAME_SERVER_VIEWS}
