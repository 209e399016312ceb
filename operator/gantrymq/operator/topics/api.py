"""Defines the port through which the topic controller writes to the Kubernetes API."""

from __future__ import annotations

from typing import Protocol

from gantrymq.base.errors import GantryError
from gantrymq.operator.topics.values import TopicResource, TopicStatus


class TopicGoneError(GantryError):
    """The resource does not exist any more, or a new resource has its name."""


class TopicChangedError(GantryError):
    """The resource was changed since it was read: read it again, and plan again."""


class TopicApiError(GantryError):
    """The API did not carry out a write; a retry may succeed."""


class TopicApi(Protocol):
    """Writes single Topics. Both methods raise the errors above, and return the new
    resourceVersion."""

    async def write_status(self, topic: TopicResource, status: TopicStatus) -> str:
        """Write the status of the Topic with this uid."""

    async def set_finalizers(self, topic: TopicResource, finalizers: tuple[str, ...]) -> str:
        """Replace the finalizers, if the resource still has the resourceVersion that was read."""
