"""Keeps the group's Service pointing to the master while this member is the master.

    every LOOK_SECONDS     the slice is read, and written if it was deleted or edited
    every SURVEY_SECONDS   the Service and its other slices are read: what sends clients
                           elsewhere is reported once, in the log and in `problems`
    after a failure        the slice is tried again after AGAIN_SECONDS

So a slice that was deleted or edited is repaired LOOK_SECONDS and two requests later. If its
annotation was set to a higher epoch, the repair also waits for a renewal of the Lease, which shows
that there is no newer master. The cost is 0.47 requests a second for a group: one in 2.5 s for the
slice, two in 30 s for the rest. A watch would cost a connection that the API server holds for each
group, and polling would still be needed in case the watch hangs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, final

from gantrymq.base.bounds import NEVER
from gantrymq.broker.member.slice_client import SliceClient, Survey
from gantrymq.ha.lease.endpoint_slice import Endpoint
from gantrymq.runtime.logs import Log

# The ports of the group's Service, and so of its EndpointSlice.
PORT_NAMES: Final = ("broker", "fast", "ha")

LOOK_SECONDS: Final = 2.5
AGAIN_SECONDS: Final = 0.5
SURVEY_SECONDS: Final = 30.0


@final
class SliceKeeper:
    """Keeps the slice of one Service. The owner calls `keep` once for each epoch that the member
    leads.

    `leads` says whether the member leads in an epoch, `renewed_at` when the last renewal of the
    Lease in an epoch was sent, by the clock of the event loop.
    """

    def __init__(
        self,
        client: SliceClient,
        log: Log,
        leads: Callable[[int], bool],
        renewed_at: Callable[[int], float],
    ) -> None:
        self.epoch = 0
        """The epoch for which the slice was last kept."""
        self.survey = Survey()
        self.unpublished: str | None = None
        """Why the last attempt to publish failed; None if it succeeded."""
        self._client = client
        self._is_master_of = leads
        self._log = log
        self._newer = "", NEVER
        """The version of a slice with a higher epoch, and when it was found."""
        self._renewed_at = renewed_at
        self._survey_at = -NEVER

    @property
    def problems(self) -> Sequence[str]:
        """What keeps clients from the master, or sends some of them elsewhere."""
        survey = self.survey
        found = [] if self.unpublished is None else [f"the Service: {self.unpublished}"]
        found += [] if survey.mistake is None else [survey.mistake]
        if survey.foreign is None and survey.unread:
            found.append(f"other EndpointSlices of the Service cannot be listed: {survey.unread}")
        found += [f"the Service also points elsewhere: {each}" for each in survey.foreign or ()]
        return found

    async def keep(self, endpoint: Endpoint, published: Callable[[int, bool], None]) -> None:
        """Keep the Service pointing to this endpoint until another member leads, or this one in
        another epoch. `published` is called after each attempt."""
        self.epoch, self._survey_at = endpoint.epoch, -NEVER
        while self._is_kept(endpoint):
            failure = await self._publish(endpoint)
            if not self._is_kept(endpoint):
                return
            is_lasting = failure == self.unpublished
            self._log_published(failure)
            published(endpoint.epoch, failure is None)
            if failure is None or is_lasting:  # the next attempt matters more than a survey
                await self._survey()
            await asyncio.sleep(AGAIN_SECONDS if failure else LOOK_SECONDS)

    def _is_kept(self, endpoint: Endpoint) -> bool:
        return self.epoch == endpoint.epoch and self._is_master_of(endpoint.epoch)

    async def _publish(self, endpoint: Endpoint) -> str | None:
        version, found_at = self._newer
        is_overruled = self._renewed_at(endpoint.epoch) > found_at
        failure = await self._client.publish(endpoint, version if is_overruled else "")
        newer = self._client.newer_version
        if newer != version:
            self._newer = newer, asyncio.get_running_loop().time() if newer else NEVER
        return failure

    async def _survey(self) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._survey_at:
            return
        self._survey_at = now + SURVEY_SECONDS
        before, self.survey = self.survey, await self._client.survey(PORT_NAMES)
        self._log_survey(before, self.survey)

    # ------------------------------------------------------------------ log lines

    def _log_published(self, failure: str | None) -> None:
        if failure == self.unpublished:
            return
        self.unpublished = failure
        if failure is None:
            self._log.info("published master address in the Service")
        else:
            self._log.warning("publishing master address failed", cause=failure)

    def _log_survey(self, before: Survey, now: Survey) -> None:
        if now.mistake is not None and now.mistake != before.mistake:
            self._log.warning("Service does not point clients to the master", cause=now.mistake)
        if now.foreign is None:
            if now.unread != before.unread:
                self._log.warning(
                    "cannot list other EndpointSlices of the Service", cause=now.unread
                )
        elif now.foreign != (before.foreign or ()):
            described = "; ".join(now.foreign) or "none"
            say = self._log.warning if now.foreign else self._log.info
            say("other EndpointSlices of the Service", found=described)
