"""What users of the client catch. Each text says what, why, and what to do.

ClientError
    RequestError      no answer: ConnectError, ConnectionLostError, RequestTimeoutError
    StateError        not started, started twice, closed, a group that is taken
    MessageError      this message can never be sent
    RouteError        nobody knows where the topic is
    BrokerError       a broker refused; `code` and `remark` are its own
    SendError         no try was answered with a yes; `causes` has one for each
    CancelledInsideError
                      a function of yours let a cancellation out that was not its own

Invariant: whatever a server does, or does not do, is a ClientError to whoever uses a client. Three
more are GantryErrors as well, and nobody gets over them by trying again: ConfigurationError, when
something is made of settings that cannot be; RemoteError, for an answer that breaks the protocol;
CorruptionError, for bytes at rest that do.
"""

from __future__ import annotations

from collections.abc import Sequence

from gantrymq.remoting.failures import ClientError
from gantrymq.wire.codes import ResponseCode

__all__ = [
    "BrokerError",
    "CancelledInsideError",
    "ClientError",
    "MessageError",
    "RouteError",
    "SendError",
    "StateError",
    "code_name",
]


class StateError(ClientError):
    """The producer or consumer is not in a state in which this can be done."""


class MessageError(ClientError):
    """The message breaks a rule that every broker enforces: sending it again is of no use."""


class RouteError(ClientError):
    """No name server knows the topic, or none could be asked."""


class BrokerError(ClientError):
    """A server's refusal, in its own words."""

    def __init__(self, code: int, remark: str | None, address: str) -> None:
        self.code = code
        self.remark = remark or ""
        self.address = address
        super().__init__(f"{address}: code {code_name(code)}, {self.remark or 'without a remark'}")


class SendError(ClientError):
    """A message was not acknowledged by any broker that was tried; one of them may have it."""

    def __init__(self, text: str, causes: Sequence[Exception]) -> None:
        self.causes = tuple(causes)
        super().__init__(text)


class CancelledInsideError(ClientError):
    """A listener, or another function of the user's, ended as if it had been cancelled."""


def code_name(code: int) -> str:
    """`17 (TOPIC_NOT_EXIST)`; the bare number where it has no name."""
    try:
        return f"{code} ({ResponseCode(code).name})"
    except ValueError:
        return str(code)
