"""Names the conditions, reasons and events of the resources; `conditions` explains each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import final


@final
class Kind(StrEnum):
    """The kinds of resources."""

    BROKER_CLUSTER = "BrokerCluster"
    TOPIC = "Topic"


@final
class Status(StrEnum):
    """The status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@final
class ConditionType(StrEnum):
    """The types of conditions."""

    READY = "Ready"
    AVAILABLE = "Available"
    IN_SYNC = "InSync"
    PROGRESSING = "Progressing"
    DEGRADED = "Degraded"
    SPREAD = "Spread"
    CONFIGURATION_APPLIED = "ConfigurationApplied"
    PAUSED = "Paused"
    SECURED = "Secured"
    QUIESCED = "Quiesced"
    IN_CONFLICT = "InConflict"
    DRAINED = "Drained"


@final
class Reason(StrEnum):
    """The reasons of conditions and events."""

    # Ready, Available and Degraded of a cluster
    ALL_READY = "AllReady"
    INVALID_SPEC = "InvalidSpec"
    OBSERVATION_INCOMPLETE = "ObservationIncomplete"
    CREATING = "Creating"
    NAME_SERVERS_NOT_READY = "NameServersNotReady"
    MEMBERS_NOT_READY = "MembersNotReady"
    NO_MASTER = "NoMaster"
    POD_UNSCHEDULABLE = "PodUnschedulable"
    STORAGE_CLASS_MISSING = "StorageClassMissing"
    VOLUME_PENDING = "VolumePending"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    POD_FAILING = "PodFailing"
    POD_REFUSED = "PodRefused"
    API_REFUSED = "ApiRefused"
    SECRET_REPLACED = "SecretReplaced"  # noqa: S105 - a reason
    DELETING = "Deleting"
    ALL_GROUPS_HAVE_MASTERS = "AllGroupsHaveMasters"
    HEALTHY = "Healthy"
    # InSync
    ALL_IN_SYNC = "AllInSync"
    FOLLOWER_MISSING = "FollowerMissing"
    FOLLOWER_BEHIND = "FollowerBehind"
    # Progressing, Quiesced
    IDLE = "Idle"
    SCALING_OUT = "ScalingOut"
    ROLLING_OUT = "RollingOut"
    SWITCHING_OVER = "SwitchingOver"
    WAITING = "Waiting"
    NOTHING_TO_DO = "NothingToDo"
    ACTIONS_PENDING = "ActionsPending"
    # Spread
    WELL_SPREAD = "WellSpread"
    MASTERS_CROWDED = "MastersCrowded"
    ZONES_SHARED = "ZonesShared"
    # ConfigurationApplied
    APPLIED = "Applied"
    CHANGE_NOT_SUPPORTED = "ChangeNotSupported"
    # Paused
    PAUSED_BY_SPEC = "PausedBySpec"
    NOT_PAUSED = "NotPaused"
    # Secured
    PROTECTED = "Protected"
    PORTS_OPEN = "PortsOpen"
    # Ready, InConflict and Drained of a topic
    CLUSTER_NOT_FOUND = "ClusterNotFound"
    CLUSTER_TERMINATING = "ClusterTerminating"
    CLUSTER_PAUSED = "ClusterPaused"
    CLUSTER_NOT_READY = "ClusterNotReady"
    MASTER_AWAY = "MasterAway"
    NAME_TAKEN = "NameTaken"
    NAME_CLAIMED = "NameClaimed"
    DIFFERS = "Differs"
    BROKER_REFUSED = "BrokerRefused"
    SHRINKING = "Shrinking"
    # events
    GROUP_CREATED = "GroupCreated"
    NAME_SERVERS_CREATED = "NameServersCreated"
    OBJECT_REPAIRED = "ObjectRepaired"
    POD_REPLACED = "PodReplaced"
    MASTER_CHANGED = "MasterChanged"
    SWITCHOVER_REQUESTED = "SwitchoverRequested"
    SECRET_ROTATED = "SecretRotated"  # noqa: S105 - a reason
    LEFT_BEHIND = "LeftBehind"
    REQUEST_IGNORED = "RequestIgnored"
    UNMANAGED_TOPICS = "UnmanagedTopics"


@final
class EventType(StrEnum):
    """Whether an event needs attention."""

    NORMAL = "Normal"
    WARNING = "Warning"


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One reason of a condition."""

    kind: Kind
    type: ConditionType
    reason: Reason
    status: Status
    meaning: str
    action: str
    """What the user should do; empty if there is nothing to do."""

    @property
    def anchor(self) -> str:
        """The section of docs/operations/conditions.md."""
        return self.heading.lower().replace(" ", "-")

    @property
    def heading(self) -> str:
        """The title of that section."""
        return f"{self.kind} {self.type} {self.reason}"


@final
@dataclass(frozen=True, slots=True)
class EventRow:
    """One reason of an event."""

    kind: Kind
    reason: Reason
    type: EventType
    meaning: str
    action: str = ""

    @property
    def anchor(self) -> str:
        """The section of docs/operations/conditions.md."""
        return self.heading.lower().replace(" ", "-")

    @property
    def heading(self) -> str:
        """The title of that section."""
        return f"{self.kind} event {self.reason}"
