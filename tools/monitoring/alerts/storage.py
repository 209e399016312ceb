"""Defines alerts about disks and the commit log."""

from __future__ import annotations

from typing import Final

from tools.monitoring.alert import Alert, Group, Severity

_FREE: Final = "gantry_broker_disk_free_bytes / gantry_broker_disk_size_bytes"
_MORE_SPACE: Final = (
    (
        "Make the volume larger. On Kubernetes change the volume claims with `kubectl patch pvc`,"
        " where the storage class allows it; `spec.storage.size` of the BrokerCluster cannot be"
        " changed."
    ),
    (
        "Keep messages for a shorter time: `fileReservedTime`, in hours, takes effect at once"
        " (`gantry updateBrokerConfig -b HOST:10911 -k fileReservedTime -v 24`)."
    ),
)

REFUSES_WRITES: Final = Alert(
    "GantryRefusesWrites",
    Severity.CRITICAL,
    "gantry_broker_refusing_writes == 1",
    30,
    "{{ $labels.node_id }} takes no messages",
    "The store of a master refuses messages.",
    (
        "The disk is used beyond `diskSpaceWarningLevelRatio` (90 %).",
        "A write or a sync failed: the disk is broken, or the volume is read-only.",
        "Queues and index are too far behind the log.",
    ),
    (
        "The log says `refuses writes` and why; producers get the same reason.",
        "`gantry brokerStatus -b HOST:10911`: commitLogDiskRatio, dispatchBehindBytes.",
    ),
    (
        *_MORE_SPACE,
        "`gantry deleteExpiredCommitLog -b HOST:10911` deletes at once what is old enough.",
        (
            "After a failed sync the broker ends by itself: replace the disk, and let the member"
            " copy the log anew."
        ),
    ),
)

DISK_FULL: Final = Alert(
    "GantryDiskFull",
    Severity.WARNING,
    f"{_FREE} < 0.25",
    300,
    "The disk of {{ $labels.node_id }} is used by more than 75 %",
    "The file system with the commit log is used by more than 75 %.",
    (
        "Producers send more messages than fit on the disk for `fileReservedTime`.",
        "Something else writes to the same file system.",
    ),
    (
        "Dashboard *Gantry: brokers*, row *Storage*: if *Size* grows, it is messages.",
        "`du -sh` in the store's folder.",
    ),
    (
        *_MORE_SPACE,
        (
            "From 75 % on (`diskMaxUsedSpaceRatio`) old files are deleted at any hour; at 90 %"
            " sends are refused."
        ),
    ),
)

DISK_WILL_FILL: Final = Alert(
    "GantryDiskWillFill",
    Severity.WARNING,
    f"predict_linear(gantry_broker_disk_free_bytes[6h], 86400) < 0 and {_FREE} < 0.5",
    1800,
    "The disk of {{ $labels.node_id }} is full within a day",
    "If the disk fills as it did in the last 6 hours, it is full within a day.",
    ("Producers send more than usual.", "Old files are not deleted: see `deleteWhen`."),
    (
        "Dashboard *Gantry: topics*, *Bytes in*: which topic grows?",
        (
            "Dashboard *Gantry: brokers*, *Oldest message*: does the oldest one grow older than"
            " `fileReservedTime`?"
        ),
    ),
    (*_MORE_SPACE, "Slow down the producers of the topic that grows."),
)

LOG_SYNC_SLOW: Final = Alert(
    "GantryLogSyncSlow",
    Severity.WARNING,
    "histogram_quantile(0.99, sum by (le, namespace, cluster, node_id, instance)"
    " (rate(gantry_broker_log_sync_seconds_bucket[5m]))) > 0.5",
    300,
    "Syncs of {{ $labels.node_id }} take more than half a second",
    "One of 100 syncs of the commit log takes longer than half a second.",
    (
        "The device is overloaded, by this broker or by a neighbour.",
        "The device is about to fail.",
        "A cloud volume has used up its credits.",
    ),
    (
        "`iostat -x 1`: await and utilisation of the device.",
        "Dashboard *Gantry: brokers*, *Sync time* and *Messages per write*.",
    ),
    (
        "Move the store to a faster volume; with SYNC_FLUSH each send waits for a sync.",
        "Move other workloads to other devices.",
    ),
)

GROUP: Final = Group(
    "storage",
    "disks and the commit log",
    "Disks that fill, fail or are slow.",
    (REFUSES_WRITES, DISK_FULL, DISK_WILL_FILL, LOG_SYNC_SLOW),
)
