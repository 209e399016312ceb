"""Accesses the Kubernetes API for commands, with a kubeconfig or the service account of a pod.

Objects are plain JSON. The `kubernetes` client does the authentication, with every plug-in that
kubectl itself would use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from urllib3.exceptions import HTTPError

from gantrymq.base.errors import GantryError

Json = dict[str, Any]  # an object of the Kubernetes API

REQUEST_SECONDS: Final = 15.0
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_MERGE_PATCH: Final = "application/merge-patch+json"


class AccessError(GantryError):
    """The API did not answer, or refused; the text says why and what to do."""


class ChangedError(GantryError):
    """The object changed since it was read; nothing was written."""


@final
@dataclass(frozen=True, slots=True)
class Collection:
    """The path of a collection of objects in the API."""

    prefix: str
    """`/api/v1` or `/apis/<group>/<version>`."""
    plural: str

    def path(self, namespace: str, name: str = "") -> str:
        """The path of the collection, or of one object; all namespaces if `namespace` is empty."""
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"{self.prefix}{scope}/{self.plural}" + (f"/{name}" if name else "")


CLUSTERS: Final = Collection("/apis/gantrymq.dev/v1", "brokerclusters")
TOPICS: Final = Collection("/apis/gantrymq.dev/v1", "topics")
LEASES: Final = Collection("/apis/coordination.k8s.io/v1", "leases")


@final
class KubeAccess:
    """One connection to the API."""

    def __init__(self, kubeconfig: str | None = None, context: str | None = None) -> None:
        """Raises AccessError if there is no usable configuration."""
        self.namespace = "default"
        try:
            self._load(kubeconfig, context)
        except ConfigException as error:
            raise AccessError(
                f"no Kubernetes cluster is configured ({error}); set KUBECONFIG, or pass"
                " --kubeconfig FILE"
            ) from None
        self._api = client.ApiClient()

    # The client's functions that read configuration, and its answers, carry no types.
    def _load(self, kubeconfig: str | None, context: str | None) -> None:
        try:
            config.load_kube_config(kubeconfig, context=context)  # type: ignore[no-untyped-call]
            contexts, current = config.list_kube_config_contexts(kubeconfig)  # type: ignore[no-untyped-call]
            wanted = next((each for each in contexts if each["name"] == context), current)
            self.namespace = wanted["context"].get("namespace", "default")
        except ConfigException:
            if kubeconfig or context:
                raise
            config.load_incluster_config()  # type: ignore[no-untyped-call]

    def get(self, where: Collection, namespace: str, name: str) -> Json | None:
        """Return one object; None if it does not exist."""
        return self._ask("GET", where.path(namespace, name))

    def objects(self, where: Collection, namespace: str, selector: str = "") -> list[Json]:
        """Return all objects of a namespace, or of all namespaces if it is empty."""
        query = [("labelSelector", selector)] if selector else []
        answer = self._ask("GET", where.path(namespace), query=query)
        if answer is None:
            raise AccessError(
                f"the API server has no resource {where.plural}: install Gantry's chart, which"
                " defines it (helm install gantry ...)"
            )
        items: list[Json] = answer["items"]
        return items

    def patch(self, where: Collection, namespace: str, name: str, body: Mapping[str, Any]) -> Json:
        """Merge `body` into one object. If it contains a metadata.resourceVersion that is not the
        current one, raises ChangedError."""
        answer = self._ask("PATCH", where.path(namespace, name), body=body)
        if answer is None:
            raise AccessError(f"{where.plural} {name} does not exist in namespace {namespace}")
        return answer

    def create(self, where: Collection, namespace: str, body: Mapping[str, Any]) -> Json:
        """Create one object."""
        answer = self._ask("POST", where.path(namespace), body=body)
        if answer is None:
            raise AccessError(f"namespace {namespace} does not exist")
        return answer

    def _ask(
        self,
        method: str,
        path: str,
        query: list[tuple[str, str]] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Json | None:
        content_type = _MERGE_PATCH if method == "PATCH" else "application/json"
        headers = {"Accept": "application/json", "Content-Type": content_type}
        prepared = self._api.param_serialize(
            method, path, query_params=query or [], header_params=headers,
            body=body, auth_settings=["BearerToken"],
        )  # fmt: skip
        try:
            response = self._api.call_api(*prepared, _request_timeout=REQUEST_SECONDS)
            data: bytes = response.read()  # type: ignore[no-untyped-call]
        except (HTTPError, OSError, ApiException) as error:
            raise AccessError(f"the Kubernetes API did not answer: {error}") from None
        return _result(response.status, data, path)


def _result(status: int, data: bytes, path: str) -> Json | None:
    if status == _NOT_FOUND:
        return None
    try:
        answer: Json = json.loads(data)
    except ValueError:
        answer = {"message": data[:200].decode(errors="replace")}
    if status == _CONFLICT:
        raise ChangedError(answer.get("message", "the object changed"))
    if status >= 300:
        raise AccessError(f"the Kubernetes API refused {path}: {answer.get('message', status)}")
    return answer
