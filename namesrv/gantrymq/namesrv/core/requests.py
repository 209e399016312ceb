"""Maps request codes to their handlers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gantrymq.namesrv.core.handlers import broker_requests, config_requests, route_requests
from gantrymq.namesrv.core.state import Handler

REQUESTS: Final[Mapping[int, Handler]] = {
    **route_requests.REQUESTS,
    **broker_requests.REQUESTS,
    **config_requests.REQUESTS,
}
