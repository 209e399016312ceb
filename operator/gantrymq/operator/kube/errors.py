"""Errors of the Kubernetes API, one class for each way a caller goes on."""

from __future__ import annotations

from gantrymq.base.errors import GantryError


class ApiError(GantryError):
    """The API did not do what was asked; the text carries the API's own words."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "", words: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        """The machine-readable reason of the API's Status, such as NotFound or Expired."""
        self.status = status
        """The HTTP status; 0 when there was no answer."""
        self.words = words or message
        """What the API said, without the request it said it to."""


class NotFoundError(ApiError):
    """The object, or the kind itself, does not exist."""


class ConflictError(ApiError):
    """The object is not the one that was expected: nothing was written."""


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
    """A watch brought nothing for so long that its connection may be dead."""
