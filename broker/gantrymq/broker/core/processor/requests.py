"""Combines the handler tables of all modules into one table by request code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gantrymq.broker.core.processor.access import acl_requests, policy_requests, user_requests
from gantrymq.broker.core.processor.admin import (
    cleanup_requests,
    config_requests,
    delay_requests,
    group_requests,
    query_requests,
    quota_requests,
    replication_requests,
    runtime_info,
    stats_requests,
    topic_requests,
    unsupported,
)
from gantrymq.broker.core.processor.audit.audit_trail import audited
from gantrymq.broker.core.processor.client import (
    assignment_requests,
    client_requests,
    connection_requests,
    lock_requests,
)
from gantrymq.broker.core.processor.consume import (
    ack_requests,
    consume_requests,
    offset_requests,
    pop_requests,
    pull_requests,
    reset_requests,
)
from gantrymq.broker.core.processor.handler import BoundHandlers, Handler, Handlers
from gantrymq.broker.core.processor.send import (
    recall_requests,
    reply_messages,
    send_back,
    send_requests,
    session_notes,
    transaction_requests,
)
from gantrymq.broker.core.services import Services
from gantrymq.wire.codes import RequestCode

TABLES: Final[Iterable[Handlers]] = (
    acl_requests.HANDLERS,
    assignment_requests.HANDLERS,
    cleanup_requests.HANDLERS,
    client_requests.HANDLERS,
    config_requests.HANDLERS,
    connection_requests.HANDLERS,
    consume_requests.HANDLERS,
    group_requests.HANDLERS,
    lock_requests.HANDLERS,
    offset_requests.HANDLERS,
    policy_requests.HANDLERS,
    pop_requests.HANDLERS,
    pull_requests.HANDLERS,
    query_requests.HANDLERS,
    quota_requests.HANDLERS,
    recall_requests.HANDLERS,
    replication_requests.HANDLERS,
    reply_messages.HANDLERS,
    send_back.HANDLERS,
    send_requests.HANDLERS,
    session_notes.HANDLERS,
    stats_requests.HANDLERS,
    topic_requests.HANDLERS,
    transaction_requests.HANDLERS,
    unsupported.HANDLERS,
    user_requests.HANDLERS,
)

BOUND_TABLES: Final[Iterable[BoundHandlers]] = (
    ack_requests.BOUND_HANDLERS,
    assignment_requests.BOUND_HANDLERS,
    client_requests.BOUND_HANDLERS,
    delay_requests.BOUND_HANDLERS,
    group_requests.BOUND_HANDLERS,
    offset_requests.BOUND_HANDLERS,
    pop_requests.BOUND_HANDLERS,
    pull_requests.BOUND_HANDLERS,
    reset_requests.BOUND_HANDLERS,
    runtime_info.BOUND_HANDLERS,
    topic_requests.BOUND_HANDLERS,
)

REQUEST_CODES: Final = frozenset(int(code) for table in (*TABLES, *BOUND_TABLES) for code in table)
"""The codes of all requests that have a handler, if only one that refuses them."""

# The fast listener refuses these codes, as in RocketMQ.
_NOT_FAST: Final = frozenset(
    {
        RequestCode.PULL_MESSAGE,
        RequestCode.LITE_PULL_MESSAGE,
        RequestCode.POP_MESSAGE,
        RequestCode.PEEK_MESSAGE,
        RequestCode.NOTIFICATION,
        RequestCode.POLLING_INFO,
    }
)


def handlers_by_code(services: Services) -> dict[int, Handler]:
    """The handler of each request code; those of audited requests leave a record."""
    found = {code: handler for table in TABLES for code, handler in table.items()}
    found |= {code: bind(services) for table in BOUND_TABLES for code, bind in table.items()}
    return {int(code): audited(code, handler) for code, handler in found.items()}


def handlers_of_fast_listener(handlers: Mapping[int, Handler]) -> dict[int, Handler]:
    """Those of the broker's handlers that also serve requests to its fast listener."""
    return {code: handler for code, handler in handlers.items() if code not in _NOT_FAST}
