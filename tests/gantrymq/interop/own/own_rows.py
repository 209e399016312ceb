"""Lists all scenarios of Gantry's client, in the order of the table."""

from typing import Final

from gantrymq.interop.own import (
    own_consuming,
    own_finding,
    own_later,
    own_popping,
    own_reading,
    own_sending,
)
from gantrymq.interop.own.own_row import OwnRow

OWN_ROWS: Final[list[OwnRow]] = [
    *own_sending.ROWS,
    *own_later.ROWS,
    *own_consuming.ROWS,
    *own_reading.ROWS,
    *own_popping.ROWS,
    *own_finding.ROWS,
]
