"""What the topic controller needs of the Kubernetes API."""

from __future__ import annotations

from typing import Protocol

from gantrymq.base.errors import GantryError
from gantrymq.operator.topics.values import TopicResource, TopicStatus


class TopicGoneError(GantryError):
    """The resource does not exist any more, or another one has its name."""


class TopicChangedError(GantryError):
    """The resource was changed since it was read: read it again and decide anew."""


class TopicApiError(GantryError):
    """The API did not do it; it may later."""


class TopicApi(Protocol):
    """Writes single Topics; both methods raise the errors above and return the resourceVersion that
    the resource has now."""

    async def write_status(self, topic: TopicResource, status: TopicStatus) -> str:
        """Make this the status, of this very uid."""

    async def set_finalizers(self, topic: TopicResource, finalizers: tuple[str, ...]) -> str:
        """Replace the finalizers, if the resource still has the resourceVersion that was read."""
