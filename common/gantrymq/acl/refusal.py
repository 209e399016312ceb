"""Refusals of access control, in RocketMQ's words and with RocketMQ's codes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, final

from gantrymq.wire.codes import ResponseCode

_PREFIX: Final = "org.apache.rocketmq.acl.common.AclException: "

# How a member that is not master refuses a change that its group's master makes. Tools know by it
# that the member will take the change from its master.
MASTER_DECIDES: Final = "Only the master decides this"

# Names in remarks are what a peer wrote.
_NAME_CHARACTERS_MAX: Final = 256


class AuthenticationFailure(StrEnum):
    """How a peer failed to prove its account; the values are labels of a metric."""

    UNSIGNED = "unsigned"
    UNKNOWN_ACCOUNT = "unknown_account"
    WRONG_SIGNATURE = "wrong_signature"
    THROTTLED = "throttled"
    """The signature was not checked, because too many before were wrong."""
    REPLAYED = "replayed"
    """The signature is good, and old or seen before."""


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not carried out: the remark and the code of the answer."""

    remark: str
    failure: AuthenticationFailure | None = None
    """None where the account is proven, and lacks a right."""
    is_logged: bool = True
    code: ResponseCode = ResponseCode.SYSTEM_ERROR


def refusal(
    text: str,
    failure: AuthenticationFailure | None = None,
    *,
    is_logged: bool = True,
    is_user: bool = False,
) -> Refusal:
    """As RocketMQ 4 refuses an account, or as RocketMQ 5 a user."""
    if is_user:
        return Refusal(text, failure, is_logged, ResponseCode.NO_PERMISSION)
    return Refusal(_PREFIX + text, failure, is_logged)


def not_permitted(text: str, failure: AuthenticationFailure | None = None) -> Refusal:
    """As RocketMQ 5 refuses a user."""
    return refusal(text, failure, is_user=True)


def shortened(name: str) -> str:
    return name if len(name) <= _NAME_CHARACTERS_MAX else name[: _NAME_CHARACTERS_MAX - 1] + "…"
