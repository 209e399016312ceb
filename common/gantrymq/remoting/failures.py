"""Defines the exceptions for requests of this program that get no response.

None of them says that the request was not executed, except `ConnectError`.
"""

from __future__ import annotations

from gantrymq.base.errors import GantryError


class ClientError(GantryError):
    """Root of all errors of a client: no response, a refusal, or an invalid request."""


class RequestError(ClientError):
    """Root of the errors of requests that got no response."""


class ConnectError(RequestError):
    """No connection could be made, so the peer never received the request."""


class ConnectionLostError(RequestError):
    """The connection ended before the response; the peer may have received the request."""


class RequestTimeoutError(RequestError):
    """The peer did not respond within the timeout."""
