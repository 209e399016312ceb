"""Lists the groups of alerts, in the order of the rule file."""

from __future__ import annotations

from typing import Final

from tools.monitoring.alert import Group
from tools.monitoring.alerts import (
    availability,
    consumers,
    load,
    messages,
    operator,
    replication,
    spark,
    storage,
)

GROUPS: Final[tuple[Group, ...]] = (
    availability.GROUP,
    storage.GROUP,
    replication.GROUP,
    load.GROUP,
    consumers.GROUP,
    messages.GROUP,
    operator.GROUP,
    spark.GROUP,
)
