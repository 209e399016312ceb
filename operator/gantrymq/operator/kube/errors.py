"""Defines the errors of the Kubernetes API, one class for each way in which a caller reacts."""

from __future__ import annotations

from gantrymq.base.errors import GantryError


class ApiError(GantryError):
    """The API did not do what it was asked for. The text contains the API's message."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "", words: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        """The machine-readable reason of the API's Status, such as NotFound or Expired."""
        self.status = status
        """The HTTP status; 0 if there was no answer."""
        self.words = words or message
        """The API's message, without the request."""


class NotFoundError(ApiError):
    """The object, or the kind itself, does not exist."""


class ConflictError(ApiError):
    """The object is not in the expected version, or exists already. Nothing was written."""


class ExpiredError(ApiError):
    """The resourceVersion or the continue token is too old: list again."""


class RefusedError(ApiError):
    """The API understood the request and refuses it; repeating it does not help."""


class ThrottledError(ApiError):
    """The API has too many requests and did nothing."""

    def __init__(self, message: str, retry_after_seconds: float) -> None:
        super().__init__(message, status=429, reason="TooManyRequests")
        self.retry_after_seconds = retry_after_seconds


class UnavailableError(ApiError):
    """There was no usable answer: a write may or may not have been carried out."""


class SilentError(UnavailableError):
    """A watch received no data for so long that its connection may be dead."""
