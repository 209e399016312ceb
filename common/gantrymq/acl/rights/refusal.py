"""Makes refusals of access control, with RocketMQ's texts and codes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, final

from gantrymq.wire.codes import ResponseCode

_PREFIX: Final = "org.apache.rocketmq.acl.common.AclException: "

# The text with which a non-master member refuses a change that only its master makes. By this text
# tools know that the member will copy the change from its master.
MASTER_DECIDES: Final = "Only the master decides this"

# Names in remarks are input of a peer.
_NAME_CHARACTERS_MAX: Final = 256


class AuthenticationFailure(StrEnum):
    """How a peer failed to prove its account. The values are labels of a metric."""

    UNSIGNED = "unsigned"
    UNKNOWN_ACCOUNT = "unknown_account"
    WRONG_SIGNATURE = "wrong_signature"
    THROTTLED = "throttled"
    """The signature was not checked, because too many before were wrong."""
    REPLAYED = "replayed"
    """The signature is valid, but the request is too old or was seen before."""


@final
@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not carried out: the remark and the code of the response."""

    remark: str
    failure: AuthenticationFailure | None = None
    """None if the account is proven but lacks a right."""
    is_logged: bool = True
    code: ResponseCode = ResponseCode.SYSTEM_ERROR


def refusal(
    text: str,
    failure: AuthenticationFailure | None = None,
    *,
    is_logged: bool = True,
    is_user: bool = False,
) -> Refusal:
    """A refusal as RocketMQ 4 refuses an account, or, with `is_user`, as RocketMQ 5 refuses a
    user."""
    if is_user:
        return Refusal(text, failure, is_logged, ResponseCode.NO_PERMISSION)
    return Refusal(_PREFIX + text, failure, is_logged)


def not_permitted(text: str, failure: AuthenticationFailure | None = None) -> Refusal:
    """A refusal as RocketMQ 5 refuses a user."""
    return refusal(text, failure, is_user=True)


def shortened(name: str) -> str:
    return name if len(name) <= _NAME_CHARACTERS_MAX else name[: _NAME_CHARACTERS_MAX - 1] + "…"
