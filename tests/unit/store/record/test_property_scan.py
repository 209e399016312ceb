"""Tests that the property scan agrees with a plain decoding."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.store.record.property_scan import PropertyScan

NAMES = [b"TAGS", b"KEYS", b"WAIT", b"DELAY", b"UNIQ_KEY"]
NEAR_NAMES = [
    b"TAGX",
    b"TAG",
    b"DELAX",
    b"DELA",
    b"UNIQ_KEX",
    b"UNIQ",
    b"UNIX_KEY",
    b"tags",
    b"_KEY",
    b"__SHARDINGKEX",
]
BYTES = [bytes([byte]) for byte in (0, 1, 2, 3, 0x5F, 0x60, 0x80, 0x81, 0x82, 0x83, 0xFF)]
SHARDING_KEY = b"__SHARDINGKEY"
LONG = [b"C000020268CB30946E09674E98260000", b"\x03\x01\x82\x00" * 5]

PIECES = st.one_of(
    st.sampled_from([*NAMES, SHARDING_KEY]),
    st.sampled_from([b"\x01", b"\x02"]),
    st.sampled_from([*NEAR_NAMES, *BYTES, *LONG]),
)


def plainly(properties: bytes) -> tuple[list[bytes], bool, bool]:
    """The values of NAMES, and whether there are other names in capitals and a sharding key."""
    values = dict.fromkeys(NAMES, b"")
    has_others = has_sharding_key = False
    for each in properties.split(b"\x02"):
        name, _, value = each.partition(b"\x01")
        if name in values and value:
            values[name] = value
        elif name and value and name[0] < 0x60:
            has_others = True
            has_sharding_key = has_sharding_key or name == SHARDING_KEY
    return list(values.values()), has_others, has_sharding_key


def scanned(scan: PropertyScan) -> tuple[list[bytes], bool, bool]:
    values = [scan.tags, scan.keys, scan.wait, scan.delay, scan.unique_key]
    return values, scan.has_other_names, scan.has_sharding_key


@given(st.lists(PIECES, max_size=20), st.integers(0, 9), st.integers(0, 9))
def test_scan_equals_a_plain_decoding(pieces: list[bytes], before: int, behind: int) -> None:
    properties = b"".join(pieces)
    scan = PropertyScan()
    scan.read(properties + b"TAGS\x01of the read before\x02", 0, len(properties))
    assert scanned(scan) == plainly(properties)
    scan.read(b"\x01" * before + properties + b"K" * behind, before, before + len(properties))
    assert scanned(scan) == plainly(properties)


def test_every_name_is_found_at_every_distance_from_the_end() -> None:
    scan = PropertyScan()
    for name in NAMES:
        for length in range(1, 40):
            properties = name + b"\x01" + b"v" * length
            for behind in (b"", b"\x02", b"\x02x\x01y"):
                scan.read(properties + behind, 0, len(properties + behind))
                values, _, _ = scanned(scan)
                assert values[NAMES.index(name)] == b"v" * length
