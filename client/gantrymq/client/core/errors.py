"""Defines the exceptions of the client; each text says what happened, why, and what to do.

ClientError
    RequestError      no response: ConnectError, ConnectionLostError, RequestTimeoutError
    StateError        not started, started twice, closed, or the group is in use
    MessageError      the message can never be sent
    RouteError        no name server knows the topic or broker
    BrokerError       a server refused; `code` and `remark` come from the server
    SendError         no attempt succeeded; `causes` has one error per attempt
    CancelledInsideError
                      a function of the user raised a cancellation that was not its own

Invariant: whatever a server does or fails to do, the user of a client sees a ClientError. Three
other GantryErrors exist, which a retry does not cure: ConfigurationError for invalid settings,
RemoteError for a response that violates the protocol, CorruptionError for invalid bytes on disk.
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
    """The producer or consumer is not in a state that permits the operation."""


class MessageError(ClientError):
    """The message violates a rule that every broker enforces; a retry is of no use."""


class RouteError(ClientError):
    """No name server knows the topic, or none could be reached."""


class BrokerError(ClientError):
    """A server's refusal, with the server's code and remark."""

    def __init__(self, code: int, remark: str | None, address: str) -> None:
        self.code = code
        self.remark = remark or ""
        self.address = address
        super().__init__(f"{address}: code {code_name(code)}, {self.remark or 'without a remark'}")


class SendError(ClientError):
    """No broker acknowledged the message; a broker that was tried may still have stored it."""

    def __init__(self, text: str, causes: Sequence[Exception]) -> None:
        self.causes = tuple(causes)
        super().__init__(text)


class CancelledInsideError(ClientError):
    """A listener, or another function of the user, ended with a cancellation that was not
    requested."""


def code_name(code: int) -> str:
    """Return text like `17 (TOPIC_NOT_EXIST)`; only the number if the code has no name."""
    try:
        return f"{code} ({ResponseCode(code).name})"
    except ValueError:
        return str(code)
