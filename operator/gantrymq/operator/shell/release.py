"""Runs `gantry operator release`, which removes Gantry's finalizers from all resources.

Run it after the operator was uninstalled; the chart does so after `helm uninstall`. Otherwise the
deletion of resources with a deletion policy would wait for an operator for ever. It changes nothing
else of the resources, and deletes nothing on brokers.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Final

from gantrymq.base.errors import ConfigurationError
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.api_config import ApiConfig, load
from gantrymq.operator.kube.client import JSON_PATCH, KubeClient, Lane
from gantrymq.operator.kube.errors import ApiError, NotFoundError
from gantrymq.operator.kube.kinds import Kind
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.resources.names import GROUP
from gantrymq.operator.shell import options
from gantrymq.operator.shell.options import Options
from gantrymq.runtime.process import ExitCode

NAME: Final = "release"
PAGE: Final = 500
# Another client may change a resource at the same time, but hardly several times in a row.
TRIES: Final = 3
FAILED: Final = 1


def run(argv: Sequence[str]) -> int:
    """Remove all finalizers; return the exit code."""
    try:
        told = options.parse(argv)
        config = load(told.kubeconfig or None)
        count = asyncio.run(_release_all(told, config))
    except ConfigurationError as error:
        sys.stderr.write(f"gantry operator {NAME}: {error}\n")
        return ExitCode.CONFIGURATION
    except ApiError as error:
        sys.stderr.write(f"gantry operator {NAME}: {error}; run it again\n")
        return FAILED
    sys.stdout.write(f"removed finalizers of {count} resources\n")
    return ExitCode.OK


def remaining(finalizers: Sequence[str]) -> list[str]:
    """Return the finalizers that are not Gantry's."""
    return [each for each in finalizers if not each.startswith(f"{GROUP}/")]


async def _release_all(told: Options, config: ApiConfig) -> int:
    client = KubeClient(config)
    count = 0
    try:
        for kind in (kinds.TOPIC, kinds.BROKER_CLUSTER):
            for namespace in told.namespaces or ("",):
                async for item in _items(client, kind, namespace):
                    count += await _release(client, kind, item)
    finally:
        await client.close()
    return count


async def _items(client: KubeClient, kind: Kind, namespace: str) -> AsyncIterator[Json]:
    token = ""
    while True:
        parameters = {"limit": str(PAGE)} | ({"continue": token} if token else {})
        try:
            page = await client.get(kind.collection(namespace), parameters)
        except NotFoundError:
            return  # the kind itself is gone
        for item in page.get("items") or ():
            yield item
        token = (page.get("metadata") or {}).get("continue", "")
        if not token:
            return


async def _release(client: KubeClient, kind: Kind, item: Json) -> int:
    """Remove the finalizers from one resource; return 1 if it had any."""
    path = kind.path(item["metadata"]["namespace"], item["metadata"]["name"])
    for attempt in range(TRIES):
        held = item["metadata"].get("finalizers") or []
        kept = remaining(held)
        if kept == held:
            return 0
        patch = [
            {"op": "test", "path": "/metadata/finalizers", "value": held},
            {"op": "replace", "path": "/metadata/finalizers", "value": kept},
        ]
        try:
            await client.request("PATCH", path, body=patch, content_type=JSON_PATCH, lane=Lane.BULK)
        except NotFoundError:
            return 1
        except ApiError:
            if attempt + 1 == TRIES:
                raise
            item = await client.get(path)
        else:
            return 1
    raise AssertionError("the loop above returns or raises")
