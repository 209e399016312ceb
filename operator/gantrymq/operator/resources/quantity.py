"""Reads quantities of Kubernetes, such as `250m`, `20Gi` or `1e9`."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_PARTS: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:(?P<exponent>[eE][+-]?[0-9]{1,2})|(?P<suffix>[KMGTPE]i|[numkMGTPE]?))"
)
_FACTORS: Final = {
    "": Decimal(1),
    **{suffix: Decimal(10) ** power for suffix, power in zip("num", (-9, -6, -3), strict=True)},
    **{suffix: Decimal(1000) ** (index + 1) for index, suffix in enumerate("kMGTPE")},
    **{f"{suffix}i": Decimal(1024) ** (index + 1) for index, suffix in enumerate("KMGTPE")},
}


def parse_quantity(text: str) -> Decimal | None:
    """Return the number that a quantity stands for; None if the text is not a quantity."""
    match = _PARTS.fullmatch(text)
    if match is None:
        return None
    number = Decimal(match["number"])
    if match["exponent"]:
        return number.scaleb(int(match["exponent"][1:]))
    return number * _FACTORS[match["suffix"] or ""]
