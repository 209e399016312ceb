"""Converts between MQVersion ordinals, which every command carries, and names of releases.

An ordinal says which release the sender is, or imitates. Ordinals count every snapshot and release
in order. Up to V3_0_0_FINAL the names are irregular; from then on each line x.y has its patches in
pairs, snapshot then release:

    ordinal = first ordinal of the line + 2 * (patch - first patch of the line) + (1 if released)

An ordinal beyond the last name is HIGHER_VERSION, as Java prints it.
"""

from __future__ import annotations

from typing import Final

V3_0_11: Final = 37  # from here on REGISTER_BROKER's body is a RegisterBrokerBody
V3_1_8_SNAPSHOT: Final = 62  # clients answer running info, consume a message on demand
V3_4_9: Final = 121  # a send's maxReconsumeTimes overrides the group's
V4_1_0_SNAPSHOT: Final = 232  # brokers filter by more than tags
V4_9_4: Final = 401  # routes are asked for in standard JSON
V4_9_8: Final = 409
V5_0_0: Final = 413  # registrations carry static topics
V5_3_1: Final = 475  # later clients understand GO_AWAY
V5_3_3: Final = 479
HIGHER_VERSION: Final = 612

# The version of Gantry's own commands: the release whose behaviour it follows.
OWN_VERSION: Final = V5_3_3

_EARLY: Final = (
    "V3_0_0_SNAPSHOT",
    "V3_0_0_ALPHA1",
    "V3_0_0_BETA1",
    "V3_0_0_BETA2",
    "V3_0_0_BETA3",
    "V3_0_0_BETA4",
    "V3_0_0_BETA5",
    "V3_0_0_BETA6_SNAPSHOT",
    "V3_0_0_BETA6",
    "V3_0_0_BETA7_SNAPSHOT",
    "V3_0_0_BETA7",
    "V3_0_0_BETA8_SNAPSHOT",
    "V3_0_0_BETA8",
    "V3_0_0_BETA9_SNAPSHOT",
    "V3_0_0_BETA9",
    "V3_0_0_FINAL",
)
# The lines whose patches are not 0 to 9: 3.0 continued to 15, 3.3 to 3.9 skipped .0.
_FIRST_PATCH: Final = {(3, 0): 1} | {(3, minor): 1 for minor in range(3, 10)}
_LAST_PATCH: Final = {(3, 0): 15}


def _all_names() -> tuple[str, ...]:
    names = list(_EARLY)
    for line in [(major, minor) for major in (3, 4, 5) for minor in range(10)]:
        for patch in range(_FIRST_PATCH.get(line, 0), _LAST_PATCH.get(line, 9) + 1):
            release = f"V{line[0]}_{line[1]}_{patch}"
            names += [f"{release}_SNAPSHOT", release]
    return (*names, "HIGHER_VERSION")


_NAMES: Final = _all_names()
_ORDINALS: Final = {name: ordinal for ordinal, name in enumerate(_NAMES)}


def version_name(ordinal: int) -> str:
    """The name that Java prints for an ordinal: `V5_3_3` for 479."""
    return _NAMES[ordinal] if 0 <= ordinal < HIGHER_VERSION else _NAMES[HIGHER_VERSION]


def version_ordinal(name: str) -> int | None:
    """The ordinal of a name such as `V5_3_3`; None if there is no such release."""
    return _ORDINALS.get(name)
