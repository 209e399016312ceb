"""Asks brokers which replication secrets they have, by the fingerprints of them."""

from __future__ import annotations

import re
from typing import Final, final

from gantrymq.base.group_secret import FINGERPRINT_DIGITS, SECRETS_PATH
from gantrymq.operator.brokers.pages import BrokerPages

_DONE: Final = 200
_FINGERPRINT: Final = re.compile(rf"[0-9a-f]{{{FINGERPRINT_DIGITS}}}")


@final
class KnownSecretsReader:
    """Asks by connections that it does not own."""

    def __init__(self, pages: BrokerPages) -> None:
        self._pages = pages

    async def ask(self, ip: str) -> tuple[str, ...] | None:
        """The secrets of the broker in the pod with this address, the one that makes proofs first;
        None where it does not say, as brokers of earlier versions."""
        page = await self._pages.get(ip, SECRETS_PATH)
        return fingerprints(page.text) if page is not None and page.status == _DONE else None


def fingerprints(text: str) -> tuple[str, ...] | None:
    """The lines of an answer; None where it is no such answer."""
    lines = tuple(text.splitlines())
    return lines if lines and all(map(_FINGERPRINT.fullmatch, lines)) else None
