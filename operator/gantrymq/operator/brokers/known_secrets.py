"""Asks brokers for the fingerprints of the replication secrets that they have."""

from __future__ import annotations

import re
from typing import Final, final

from gantrymq.base.group_secret import FINGERPRINT_DIGITS, SECRETS_PATH
from gantrymq.operator.brokers.pages import BrokerPages

_DONE: Final = 200
_FINGERPRINT: Final = re.compile(rf"[0-9a-f]{{{FINGERPRINT_DIGITS}}}")


@final
class KnownSecretsReader:
    """Asks brokers over the connections of a BrokerPages, which it does not own."""

    def __init__(self, pages: BrokerPages) -> None:
        self._pages = pages

    async def ask(self, ip: str) -> tuple[str, ...] | None:
        """Return the fingerprints of a broker's secrets, first that of the secret for its proofs.

        `ip` is the address of the broker's pod. None if the broker does not answer, as brokers of
        earlier versions.
        """
        page = await self._pages.get(ip, SECRETS_PATH)
        return fingerprints(page.text) if page is not None and page.status == _DONE else None


def fingerprints(text: str) -> tuple[str, ...] | None:
    """Parse an answer; None if it contains anything but fingerprints."""
    lines = tuple(text.splitlines())
    return lines if lines and all(map(_FINGERPRINT.fullmatch, lines)) else None
