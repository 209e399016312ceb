"""Writes the status of Topics by server-side apply, and their finalizers by JSON patch.

Both use the bulk lane of the client, so that thousands of topics never delay a cluster.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.client import APPLY_PATCH, JSON_PATCH, KubeClient, Lane
from gantrymq.operator.kube.errors import ApiError, ConflictError, NotFoundError, RefusedError
from gantrymq.operator.kube.executor import FIELD_MANAGER
from gantrymq.operator.kube.status_writer import FIELD_MANAGER as STATUS_MANAGER
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.topics.api import TopicApiError, TopicChangedError, TopicGoneError
from gantrymq.operator.topics.statuses import to_json
from gantrymq.operator.topics.values import TopicResource, TopicStatus

_INVALID: Final = 422


@final
class TopicWrites:
    """Writes Topics for the topic controller. It keeps no state."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def write_status(self, topic: TopicResource, status: TopicStatus) -> str:
        """Write the status of the Topic with this uid; return the new resourceVersion."""
        body = {
            "apiVersion": kinds.TOPIC.api_version,
            "kind": kinds.TOPIC.name,
            "metadata": {"name": topic.name, "namespace": topic.namespace, "uid": topic.uid},
            "status": to_json(status),
        }
        try:
            answer = await self._client.request(
                "PATCH",
                self._path(topic) + "/status",
                {"fieldManager": STATUS_MANAGER, "force": "true"},
                body,
                content_type=APPLY_PATCH,
                lane=Lane.BULK,
            )
        except (NotFoundError, ConflictError) as error:  # conflict: a new Topic has the name
            raise TopicGoneError(str(error)) from error
        except ApiError as error:
            raise TopicApiError(str(error)) from error
        return _version(answer)

    async def set_finalizers(self, topic: TopicResource, finalizers: tuple[str, ...]) -> str:
        """Replace the finalizers of this version; return the new resourceVersion."""
        patch = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": topic.resource_version},
            {"op": "add", "path": "/metadata/finalizers", "value": list(finalizers)},
        ]
        try:
            answer = await self._client.request(
                "PATCH",
                self._path(topic),
                {"fieldManager": FIELD_MANAGER},
                patch,
                content_type=JSON_PATCH,
                lane=Lane.BULK,
            )
        except NotFoundError as error:
            raise TopicGoneError(str(error)) from error
        except ConflictError as error:
            raise TopicChangedError(str(error)) from error
        except RefusedError as error:
            if error.status == _INVALID:  # the status of a `test` that fails
                raise TopicChangedError(str(error)) from error
            raise TopicApiError(str(error)) from error
        except ApiError as error:
            raise TopicApiError(str(error)) from error
        return _version(answer)

    def _path(self, topic: TopicResource) -> str:
        return kinds.TOPIC.path(topic.namespace, topic.name)


def _version(answer: Json) -> str:
    return str(answer["metadata"]["resourceVersion"])
