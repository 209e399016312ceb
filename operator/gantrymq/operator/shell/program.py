"""Runs the operator's process: stands by until it leads, runs the operator, releases the Lease.

    start       start client, probes and metrics
    stand by    wait for the Lease, without watching or writing anything
    lead        wait for the kinds of the API group, then run the operator
    stop        end all work, then release the Lease

Invariant: the process writes only the Lease before it has acquired it and after it has released it.
If it loses the Lease it exits at once, before it sends another request.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import uuid
from collections.abc import Coroutine
from typing import Final, final

from gantrymq.operator.kube import kinds
from gantrymq.operator.kube.api_config import ApiConfig
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.errors import ApiError
from gantrymq.operator.kube.leading.leader import LeaderElector
from gantrymq.operator.plan.planner import plan
from gantrymq.operator.plan.snapshot import OperatorDefaults
from gantrymq.operator.shell import probes
from gantrymq.operator.shell.assembly import Operator, Parts
from gantrymq.operator.shell.handlers import KopfThread
from gantrymq.operator.shell.metrics import OperatorMetrics
from gantrymq.operator.shell.options import Options
from gantrymq.runtime.http.health import HealthServer, Readiness
from gantrymq.runtime.http.metrics import LoopLag, Metrics
from gantrymq.runtime.logs import Log
from gantrymq.runtime.process import Process

EXIT_LOST: Final = 1
RELEASE_SECONDS: Final = 1.5
KINDS_SECONDS: Final = 5.0


async def serve(told: Options, config: ApiConfig, owner: Process) -> None:
    """Run the operator in this process until it is asked to stop."""
    program = Program(told, config, owner)
    try:
        await program.start()
        await program.lead()
    finally:
        await program.stop()


@final
class Program:
    """The parts of the process in the order in which they start."""

    def __init__(self, told: Options, config: ApiConfig, owner: Process) -> None:
        self._client = KubeClient(config)
        self._config = config
        self._identity = f"{socket.gethostname()}_{uuid.uuid4().hex[:8]}"
        # Separate connections, so that a renewal never waits behind requests of reconciliations.
        self._lease_client = KubeClient(config)
        self._elector = LeaderElector(
            self._lease_client,
            told.leader_election_namespace or config.namespace,
            told.lease_name,
            self._identity,
        )
        self._kopfs: list[KopfThread] = []
        self._lag = LoopLag()
        self._liveness = Readiness()
        self._log = Log("operator")
        self._metrics = OperatorMetrics(self._client, self._elector)
        self._operator: Operator | None = None
        self._owner = owner
        self._readiness = Readiness()
        self._tasks: list[asyncio.Task[None]] = []
        self._told = told
        registry = Metrics()
        registry.add(self._metrics.samples)
        registry.add(self._lag.samples)
        self._health = HealthServer(registry, self._readiness, liveness=self._liveness)

    async def start(self) -> None:
        """Serve probes and metrics. All else begins with `lead`."""
        self._readiness.add(
            "leader",
            lambda: probes.cannot_lead(
                is_leader=self._elector.is_leader, last_error=self._elector.last_error
            ),
        )
        host, port = await self._health.start(self._told.metrics_host, self._told.metrics_port)
        self._lag.start()
        self._log.info("started", identity=self._identity, metrics=f"{host}:{port}")

    async def lead(self) -> None:
        """Become the leader and run the operator until the process stops."""
        if not await self._or_stop(self._elector.acquire()):
            return
        self._own(self._hold(), "leader election")
        if not await self._or_stop(self._kinds_exist()):
            return
        operator = self._operator = Operator(self._parts())
        self._watch_health(operator)
        for name, work in await operator.start():
            self._own(work, name)
        self._kopfs = [
            KopfThread(self._config, namespace, operator.resource_changed, self._kopf_ended)
            for namespace in self._told.namespaces or ("",)
        ]
        for each in self._kopfs:
            each.start()
        await self._owner.stop_requested()

    async def stop(self) -> None:
        """End all work, then release the Lease, so that the next leader sees all writes."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=RELEASE_SECONDS)
        ends = [self._elector.release(), *(each.stop() for each in self._kopfs)]
        if self._operator is not None:
            ends.append(self._operator.close())
        await asyncio.gather(*ends)
        self._lag.stop()
        await self._client.close()
        await self._lease_client.close()
        await self._health.stop()

    # ------------------------------------------------------------------ parts

    def _parts(self) -> Parts:
        told = self._told
        return Parts(
            client=self._client,
            defaults=OperatorDefaults(
                told.broker_image,
                told.name_server_image,
                told.image_pull_policy,
                told.image_pull_secrets,
                told.security_profile,
            ),
            planner=plan,
            random=random.SystemRandom(),
            identity=self._identity,
            namespaces=told.namespaces,
        )

    def _own(self, work: Coroutine[None, None, None], name: str) -> None:
        self._tasks.append(self._owner.own(work, name))

    async def _or_stop(self, work: Coroutine[None, None, None]) -> bool:
        """Do the work; return whether it was done before the process was asked to stop."""
        running = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self._owner.stop_requested())
        await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if running.done():
            running.result()
            return True
        running.cancel()
        return False

    async def _hold(self) -> None:
        exit_at_once(await self._elector.hold())

    async def _kinds_exist(self) -> None:
        """Wait for the CustomResourceDefinitions, because kopf looks them up only once.

        They must be found in one namespace; another namespace may have been deleted.
        """
        namespaces = self._told.namespaces or ("",)
        while all(causes := [await self._why_unlisted(each) for each in namespaces]):
            self._log.warning(
                "waiting for the kinds of gantrymq.dev: install the CustomResourceDefinitions",
                cause=causes[0],
            )
            await asyncio.sleep(KINDS_SECONDS)

    async def _why_unlisted(self, namespace: str) -> str:
        """Return why the BrokerClusters of this namespace cannot be listed; empty if they can."""
        try:
            await self._client.get(kinds.BROKER_CLUSTER.collection(namespace), {"limit": "1"})
        except ApiError as error:
            return str(error)
        return ""

    def _watch_health(self, operator: Operator) -> None:
        clock = asyncio.get_running_loop().time
        self._metrics.show(operator.work, operator.caches, operator.publisher)
        self._liveness.add(
            "reflectors",
            lambda: probes.silent_reflectors(operator.caches.reflectors, clock()),
        )
        self._liveness.add("queue", lambda: probes.late_keys(operator.work.oldest_lateness))

    def _kopf_ended(self, why: str) -> None:
        self._owner.stop(f"kopf ended: {why}")


def exit_at_once(why: str) -> None:
    """Exit after the leadership was lost, before anything else is written."""
    Log("operator").error("lost leadership, exiting", reason=why)
    os._exit(EXIT_LOST)
