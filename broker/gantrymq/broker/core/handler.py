"""Defines the type of the functions that handle requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.state import State
from gantrymq.wire.codes import RequestCode

Handler: TypeAlias = Callable[[State, Request], "Outcome | Task[Outcome]"]
"""Carries out one request: at once, or in steps. A RemoteError becomes a SYSTEM_ERROR answer."""

Handlers: TypeAlias = Mapping[RequestCode, Handler]
