"""What the agent has to know of the rest of its member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gantrymq.ha.election import Sighting
from gantrymq.ha.handshake import Standing


class Surroundings(Protocol):
    """Asked for when it is needed, each of the moment."""

    def standing(self) -> Standing:
        """Our own."""

    def sightings(self) -> Mapping[int, Sighting]:
        """What other members said of themselves last."""

    def new_id(self) -> str:
        """A UUID that nothing has yet."""

    def stray(self) -> str | None:
        """Why our disk has no part in this group."""

    def stall(self, now: float) -> str | None:
        """Why our disk does not answer."""

    def trouble(self, now: float) -> str | None:
        """Why we cannot take messages, or could not as master: a disk that is full, or stalls."""

    def secure(self, now: float) -> bool:
        """Have our log on our disk, as it is now. Whether all that may have been acknowledged is
        there already: of a master what it acknowledged itself, for the rest was there when it
        sought the lease."""

    def others_take(self) -> bool:
        """Whether somebody of the set follows us who could take messages as master."""

    def hears_master(self) -> bool:
        """Whether we follow the one whom the lease names."""

    def promised_since(self) -> float | None:
        """When the question was sent that all who have to promise have answered; None: never."""

    def heir(self, chosen: int, now: float) -> int:
        """Who has all of our log, and may be master: the chosen one if there is one; NOBODY while
        nobody is that far."""
