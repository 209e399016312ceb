"""Refuses requests that a slave must leave to its master.

    changes of tables     the next copy of the master's tables would undo them
    pops                  each one is a change that the log has to record
    locks, accounts       between members that elect their master: only the master decides

Sends, decisions about transactions, and messages sent back have refusals of their own, in Java's
words, where they are checked. The slave's store refuses every other append.
"""

from __future__ import annotations

from typing import Final

from gantrymq.acl.rights.refusal import MASTER_DECIDES
from gantrymq.broker.core.messages import Reply, Request
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.state import State
from gantrymq.store.record.put_status import UNAVAILABLE
from gantrymq.wire.codes import RequestCode, ResponseCode

_CHANGES: Final = frozenset(
    {
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,
        RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        RequestCode.DELETE_SUBSCRIPTIONGROUP,
        RequestCode.SET_MESSAGE_REQUEST_MODE,
    }
)
_POPS: Final = frozenset(
    {
        RequestCode.POP_MESSAGE,
        RequestCode.ACK_MESSAGE,
        RequestCode.BATCH_ACK_MESSAGE,
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME,
    }
)


# Decisions of the master alone. A slave of fixed roles answers these as Java's does.
_DECISIONS: Final = frozenset(
    {
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.UNLOCK_BATCH_MQ,
        RequestCode.UPDATE_AND_CREATE_ACL_CONFIG,
        RequestCode.DELETE_ACL_CONFIG,
        RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
        RequestCode.AUTH_CREATE_USER,
        RequestCode.AUTH_UPDATE_USER,
        RequestCode.AUTH_DELETE_USER,
        RequestCode.AUTH_CREATE_ACL,
        RequestCode.AUTH_UPDATE_ACL,
        RequestCode.AUTH_DELETE_ACL,
        RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN,
    }
)


def refuse(state: State, request: Request) -> Reply | None:
    """Why this broker, as a slave, does not carry out the request; None when it may."""
    code = request.command.code
    if state.identity.is_master:
        return None
    if code in _CHANGES:  # in 4.9's words: a slave of 5.3 makes the change and forgets it
        return refused(
            ResponseCode.SYSTEM_ERROR,
            "Can't modify topic or subscription group from slave broker, please execute it from"
            f" master broker. {_where(state)}",
        )
    if code in _POPS:
        return refused(
            ResponseCode.SERVICE_NOT_AVAILABLE,
            f"{UNAVAILABLE}Messages are popped and acknowledged at the master, and"
            f" {state.identity.address} is a slave. {_where(state)}",
        )
    if state.identity.is_elected and code in _DECISIONS:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"{MASTER_DECIDES}, and {state.identity.address} is not. {_where(state)}",
        )
    return None


def _where(state: State) -> str:
    master = state.master_address
    if master:
        return f"The master of {state.identity.name} is {master}"
    return f"The name servers know no master of {state.identity.name} now"
