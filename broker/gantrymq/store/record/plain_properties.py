"""Decides which properties are plain: the broker only stores them, and finds messages by them.

Any other property, such as a delay, a transaction, or one that only a broker may set, is left to
the general path, which handles it.
"""

from __future__ import annotations

from typing import Final

from gantrymq.store.record.property_scan import PropertyScan
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message import property_names

# Names with a meaning for the broker. INSTANCE_ID, a client's namespace, has none.
_SPECIAL_NAMES: Final = (property_names.RESERVED - {property_names.INSTANCE_ID}) | {
    property_names.INNER_NUM,
    property_names.INNER_BASE,
    property_names.INNER_MULTI_DISPATCH,
    property_names.CHECK_IMMUNITY_TIME_IN_SECONDS,
    property_names.PRODUCER_SESSION,
}
_PLAIN_NAMES: Final = frozenset(
    {property_names.TAGS, property_names.KEYS, property_names.UNIQ_KEY, property_names.WAIT}
)


def are_plain(properties: bytes, scan: PropertyScan) -> bool:
    """Whether these properties are plain; `scan` has just read them."""
    if 0 in properties or scan.delay or (scan.wait and scan.wait != b"true"):
        return False
    return not scan.has_other_names or _has_plain_names(properties)


def _has_plain_names(properties: bytes) -> bool:
    """Whether no name has a meaning for the broker."""
    names = codec.parse(properties).keys()
    return not any(
        (name in _SPECIAL_NAMES and name not in _PLAIN_NAMES) or name.startswith("__RMQ.")
        for name in names
    )
