"""Combines the handler tables of all modules into one table by request code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gantrymq.broker.core import (
    ack_requests,
    acl_requests,
    assignment_requests,
    client_requests,
    config_requests,
    connection_requests,
    consume_requests,
    delay_requests,
    group_requests,
    lock_requests,
    offset_requests,
    pop_requests,
    pull_requests,
    query_requests,
    recall_requests,
    replication_requests,
    reply_messages,
    reset_requests,
    runtime_info,
    send_back,
    send_requests,
    session_notes,
    stats_requests,
    topic_requests,
    transaction_requests,
    unsupported,
    upkeep_requests,
)
from gantrymq.broker.core.auditing.trail import audited
from gantrymq.broker.core.handler import Handler, Handlers
from gantrymq.broker.core.quotas import requests as quota_requests
from gantrymq.broker.core.users import policy_requests, user_requests

TABLES: Final[Iterable[Handlers]] = (
    ack_requests.HANDLERS,
    acl_requests.HANDLERS,
    assignment_requests.HANDLERS,
    client_requests.HANDLERS,
    config_requests.HANDLERS,
    connection_requests.HANDLERS,
    consume_requests.HANDLERS,
    delay_requests.HANDLERS,
    group_requests.HANDLERS,
    lock_requests.HANDLERS,
    offset_requests.HANDLERS,
    pop_requests.HANDLERS,
    pull_requests.HANDLERS,
    query_requests.HANDLERS,
    quota_requests.HANDLERS,
    recall_requests.HANDLERS,
    replication_requests.HANDLERS,
    reply_messages.HANDLERS,
    reset_requests.HANDLERS,
    runtime_info.HANDLERS,
    send_back.HANDLERS,
    send_requests.HANDLERS,
    session_notes.HANDLERS,
    stats_requests.HANDLERS,
    topic_requests.HANDLERS,
    transaction_requests.HANDLERS,
    unsupported.HANDLERS,
    upkeep_requests.HANDLERS,
    policy_requests.HANDLERS,
    user_requests.HANDLERS,
)

REQUESTS: Final[dict[int, Handler]] = {
    int(code): audited(code, handler) for table in TABLES for code, handler in table.items()
}
