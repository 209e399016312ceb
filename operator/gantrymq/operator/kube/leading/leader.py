"""Acquires, renews and releases the Lease by which one operator process leads.

Only the leader writes. If it loses the Lease, the caller decides what follows; the operator's
process exits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, final

from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.errors import ApiError, ConflictError, NotFoundError
from gantrymq.operator.kube.kinds import LEASE
from gantrymq.operator.kube.leading.leader_election import (
    DEADLINE_SECONDS,
    DURATION_SECONDS,
    RETRY_SECONDS,
    Claim,
    LeaderElection,
    LeaseRecord,
)
from gantrymq.operator.plan.actions import Json
from gantrymq.runtime.logs import Log

# Two attempts fit between the last renewal and the deadline, however slow the API is.
REQUEST_SECONDS: Final = 4.0

WallClock = Callable[[], datetime]


def wall_clock() -> datetime:
    return datetime.now(UTC)


@final
class LeaderElector:
    """Acquires and renews the operator's Lease in one namespace."""

    def __init__(
        self,
        client: KubeClient,
        namespace: str,
        name: str,
        identity: str,
        wall: WallClock = wall_clock,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._client = client
        self._clock = asyncio.get_running_loop().time
        self._election = LeaderElection(identity)
        self._identity = identity
        self._log = Log("operator.leader")
        self._name = name
        self._namespace = namespace
        self._retry_seconds = retry_seconds
        self._wall = wall
        self.last_error = ""
        """Why the last attempt to read or write the Lease failed; empty after a success."""

    @property
    def is_leader(self) -> bool:
        return self._election.is_leader

    @property
    def holder(self) -> str:
        return self._election.holder

    async def acquire(self) -> None:
        """Wait until this process leads."""
        logged = ""
        while not await self._try():
            if self._election.holder != logged:
                logged = self._election.holder
                self._log.info("standing by", leader=logged)
            await asyncio.sleep(self._retry_seconds)
        self._log.info("leading", identity=self._identity)

    async def hold(self) -> str:
        """Renew until the leadership is lost; return why."""
        while True:
            await asyncio.sleep(self._retry_seconds)
            with suppress(TimeoutError):  # the deadline does not wait for an answer
                async with asyncio.timeout_at(self._election.deadline):
                    await self._try()
            if self._election.has_lost(self._clock()):
                return self._why_lost()

    async def release(self) -> None:
        """Let another process lead at once, if this one leads."""
        if not self._election.is_leader:
            return
        claim = self._election.claim(self._clock())
        self._election.released()
        if claim is None:
            return
        try:
            await self._write(claim, holder="", duration=1)
            self._log.info("released leadership", identity=self._identity)
        except ApiError as error:
            self._log.warning("cannot release leadership", cause=error)

    # ------------------------------------------------------------------ one attempt

    async def _try(self) -> bool:
        """Read the Lease if needed and claim it if allowed; return whether this process leads."""
        try:
            if not self._election.is_leader:
                await self._read()
            claim = self._election.claim(self._clock())
            if claim is None:
                self.last_error = ""
                return False
            sent_at = self._clock()
            self._election.claimed(await self._write(claim, self._identity), sent_at)
        except ConflictError:
            await self._read_again()
            return False
        except ApiError as error:
            self._fail(error)
            if isinstance(error, NotFoundError):
                await self._read_again()  # deleted: the next attempt creates it
            return False
        self.last_error = ""
        return True

    async def _read_again(self) -> None:
        """Read the Lease after a conflict: another process changed it, or an earlier request of
        this process did."""
        try:
            await self._read()
        except ApiError as error:
            self._fail(error)

    async def _read(self) -> None:
        """Read the current Lease; one that does not exist is free."""
        try:
            answer: Json | None = await self._client.get(
                self._path(), timeout_seconds=REQUEST_SECONDS
            )
        except NotFoundError:
            answer = None
        self._election.observe(None if answer is None else _record(answer), self._clock())

    async def _write(
        self, claim: Claim, holder: str, duration: float = DURATION_SECONDS
    ) -> LeaseRecord:
        now = self._wall().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        metadata: Json = {"namespace": self._namespace, "name": self._name}
        if claim.version:
            metadata["resourceVersion"] = claim.version
        body = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.name,
            "metadata": metadata,
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": int(duration),
                "acquireTime": claim.acquire_time or now,
                "renewTime": now,
                "leaseTransitions": claim.transitions,
            },
        }
        verb, path = ("PUT", self._path()) if claim.version else ("POST", self._collection())
        answer = await self._client.request(verb, path, None, body, timeout_seconds=REQUEST_SECONDS)
        return _record(answer)

    def _fail(self, error: ApiError) -> None:
        self.last_error = str(error)
        self._log.warning("cannot use the leader Lease", cause=error)

    def _why_lost(self) -> str:
        if self._election.holder not in ("", self._identity):
            return f"{self._election.holder} leads"
        return f"no renewal for {DEADLINE_SECONDS:g} s: {self.last_error}"

    def _collection(self) -> str:
        return LEASE.collection(self._namespace)

    def _path(self) -> str:
        return LEASE.path(self._namespace, self._name)


def _record(item: Json) -> LeaseRecord:
    spec = item.get("spec") or {}
    return LeaseRecord(
        holder=spec.get("holderIdentity") or "",
        version=item["metadata"]["resourceVersion"],
        duration_seconds=float(spec.get("leaseDurationSeconds") or DURATION_SECONDS),
        transitions=int(spec.get("leaseTransitions") or 0),
        acquire_time=spec.get("acquireTime") or "",
    )
