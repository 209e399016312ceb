"""Runs an Executor in tests, and records the objects that it reports."""

from __future__ import annotations

from gantrymq.fakes_kube.server import KubeServer
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.executor import Execution, Executor
from gantrymq.operator.plan.actions import Action, Json, ObjectRef


class ReportedObjects:
    """Runs an executor, and records the objects that it reports."""

    def __init__(self, client: KubeClient) -> None:
        self.gone: list[ObjectRef] = []
        self.written: list[Json] = []
        self.executor = Executor(client, self.written.append, self.gone.append)

    async def run(self, *actions: Action) -> Execution:
        return await self.executor.execute(actions)


def version(server: KubeServer, kind: str, name: str) -> str:
    """Return the resourceVersion of an object in the namespace `one`."""
    found = server.get(kind, "one", name)
    assert found is not None
    return str(found["metadata"]["resourceVersion"])
