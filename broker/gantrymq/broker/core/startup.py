"""Prepares a broker for its first request: loads its files, and creates what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gantrymq.broker.core.acl import first_users
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.metadata import reserve_times, system_topic_creation
from gantrymq.broker.core.pull import commits
from gantrymq.broker.core.services import Services
from gantrymq.broker.core.state import State


def loaders(state: State, services: Services) -> Mapping[File, Callable[[bytes], None]]:
    """The function that loads the content of each configuration file, to call before `begin`."""
    users = state.access.users
    return {
        **({} if users is None else {File.USERS: users.load}),
        File.TOPICS: state.topics.load,
        File.GROUPS: state.groups.load,
        File.OFFSETS: state.offsets.load,
        File.DELAYS: services.delay_service.load,
        File.TIMERS: services.timer_service.load,
        File.SETTINGS: state.configuration.load,
        File.FILTERS: state.filters.load,
        File.MODES: state.request_modes.load,
        File.POPS: state.in_flight.load,
        File.MISSING: services.metadata_replication.load,
        File.QUOTAS: state.quotas.load,
    }


def begin(state: State, services: Services) -> None:
    """Prepare for requests, once the store is open and the files are loaded."""
    if state.identity.is_master:
        commits.forget_lost(state)
    if state.identity.is_elected and (state.store.report.was_truncated or state.store.log.is_empty):
        services.metadata_replication.lose()
    first_users.begin(state)
    system_topic_creation.make_missing(state)
    services.timer_service.begin_anew()
    services.pops.begin()
    reserve_times.begin(state)
    services.kernel_eligibility.open()
