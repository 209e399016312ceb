"""Runs `gantry operator self-test`: creates a small cluster, uses it, and deletes it.

The chart's `helm test` runs it in a pod. It works as any user does: with the API for the resources,
and with the client library for the messages.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, final

from gantrymq.base.errors import ConfigurationError, GantryError
from gantrymq.client import ConsumeFrom, Message, Producer, PushConsumer, ReceivedMessage
from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.api_config import load
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.errors import ApiError, NotFoundError
from gantrymq.operator.kube.kinds import Kind
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.resources.names import API_VERSION
from gantrymq.operator.shell import options
from gantrymq.runtime.process import ExitCode

NAME: Final = "self-test"
READY_SECONDS: Final = 150.0
MESSAGE_SECONDS: Final = 30.0
GONE_SECONDS: Final = 90.0
POLL_SECONDS: Final = 0.5
MESSAGES: Final = 10
TOPIC: Final = "SelfTest"
"""Not the name of the cluster, because each cluster has a topic of its own name."""
DEFAULT_NAMESPACE: Final = "default"
FAILED: Final = 1

# The test may not read Secrets, so it could not use a secure cluster.
_CLUSTER_SPEC: Final[Json] = {
    "security": {"profile": "open"},
    "nameServers": 1,
    "groups": 1,
    "membersPerGroup": 1,
    "replication": "async",
    "storage": {"size": "1Gi", "onClusterDeletion": "Delete"},
}


class SelfTestError(GantryError):
    """A step failed; the text says which, and how to find out why."""


def run(argv: Sequence[str]) -> int:
    """Run the test; return the exit code."""
    try:
        told = options.parse(argv)
        config = load(told.kubeconfig or None)
        namespace = (told.namespaces or (DEFAULT_NAMESPACE,))[0]

        async def main() -> None:
            client = KubeClient(config)
            try:
                await SelfTest(client, namespace, f"self-test-{uuid.uuid4().hex[:8]}").run()
            finally:
                await client.close()

        asyncio.run(main())
    except ConfigurationError as error:
        sys.stderr.write(f"gantry operator {NAME}: {error}\n")
        return ExitCode.CONFIGURATION
    except GantryError as error:
        sys.stderr.write(f"gantry operator {NAME}: {error}\n")
        return FAILED
    return ExitCode.OK


@final
class SelfTest:
    """One run of the test, with a cluster and a topic of its own."""

    def __init__(self, client: KubeClient, namespace: str, name: str) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace

    async def run(self) -> None:
        """Run all steps, and delete the cluster and the topic in any case."""
        try:
            await self._create(kinds.BROKER_CLUSTER, _CLUSTER_SPEC)
            topic_spec = {
                "cluster": self._name,
                "topicName": TOPIC,
                "writeQueues": 1,
                "deletionPolicy": "Delete",
            }
            await self._create(kinds.TOPIC, topic_spec)
            cluster = await self._ready(kinds.BROKER_CLUSTER)
            await self._ready(kinds.TOPIC)
            await self._messages(str(cluster["status"]["nameServers"]))
        finally:
            await self._delete(kinds.TOPIC)
            await self._delete(kinds.BROKER_CLUSTER)
        await self._gone()
        _say("passed: a cluster was created, served messages, and was deleted")

    async def _create(self, kind: Kind, spec: Json) -> None:
        body = {
            "apiVersion": API_VERSION,
            "kind": kind.name,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": spec,
        }
        await self._client.request("POST", kind.collection(self._namespace), body=body)
        _say(f"created {kind.name} {self._namespace}/{self._name}")

    async def _ready(self, kind: Kind) -> Json:
        """Wait until the resource's condition Ready is True, and return the resource."""
        found: Json = {}

        async def is_ready() -> bool:
            nonlocal found
            found = await self._client.get(kind.path(self._namespace, self._name))
            return _ready_condition(found).get("status") == "True"

        if not await _wait(is_ready, READY_SECONDS):
            message = _ready_condition(found).get("message", "the operator has written no status")
            raise SelfTestError(f"{kind.name} is not Ready after {READY_SECONDS:g} s: {message}")
        _say(f"{kind.name} is Ready")
        return found

    async def _messages(self, name_servers: str) -> None:
        received: set[str] = set()
        is_done = asyncio.Event()

        def listen(messages: list[ReceivedMessage]) -> None:
            received.update(message.body.decode() for message in messages)
            if len(received) == MESSAGES:
                is_done.set()

        consumer = PushConsumer(
            NAME, name_servers=name_servers, consume_from=ConsumeFrom.FIRST_OFFSET
        )
        consumer.subscribe(TOPIC, "*", listen)
        async with Producer(NAME, name_servers=name_servers) as producer, consumer:
            for number in range(MESSAGES):
                await producer.send(Message(TOPIC, f"hello {number}"))
            try:
                await asyncio.wait_for(is_done.wait(), MESSAGE_SECONDS)
            except TimeoutError:
                raise SelfTestError(
                    f"{len(received)} of {MESSAGES} messages were consumed in {MESSAGE_SECONDS:g} s"
                ) from None
        _say(f"sent and consumed {MESSAGES} messages by {name_servers}")

    async def _delete(self, kind: Kind) -> None:
        try:
            await self._client.request("DELETE", kind.path(self._namespace, self._name))
        except NotFoundError:
            return

    async def _gone(self) -> None:
        async def is_gone() -> bool:
            for kind in (kinds.TOPIC, kinds.BROKER_CLUSTER):
                try:
                    await self._client.get(kind.path(self._namespace, self._name))
                except NotFoundError:
                    continue
                return False
            return True

        if not await _wait(is_gone, GONE_SECONDS):
            raise SelfTestError(
                f"{self._namespace}/{self._name} still exists {GONE_SECONDS:g} s after it was"
                " deleted: kubectl describe shows what its finalizers wait for"
            )


def _ready_condition(resource: Json) -> Json:
    conditions = (resource.get("status") or {}).get("conditions") or []
    found: Json = next((each for each in conditions if each["type"] == "Ready"), {})
    return found


async def _wait(is_true: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    """Return whether it became true in time. The API may be unavailable for a moment."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        try:
            if await is_true():
                return True
        except NotFoundError:
            raise
        except ApiError as error:
            _say(f"asking again: {error}")
        await asyncio.sleep(POLL_SECONDS)
    return False


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
