"""Why a request of ours has no response: what the awaiting side catches.

None of them says that the request was not executed; only `ConnectError` knows that it was not.
"""

from __future__ import annotations

from gantrymq.base.errors import GantryError


class ClientError(GantryError):
    """Root of what whoever asks servers catches: no answer, a refusal, a question that is none."""


class RequestError(ClientError):
    """Root: the request got no response."""


class ConnectError(RequestError):
    """No connection could be made, so the peer never saw the request."""


class ConnectionLostError(RequestError):
    """The connection ended while the request was on its way or at the peer."""


class RequestTimeoutError(RequestError):
    """The peer did not answer in time."""
