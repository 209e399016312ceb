"""Wraps a listener so that hooks run before and after each call.

For an async listener the hooks run after it has completed, as for a plain one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, final

from gantrymq.client.core.instance.hooks import ConsumeContext, ConsumeHook, call_all
from gantrymq.client.core.message.outcomes import COMMIT, SUCCESS, Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.ports import Ports
from gantrymq.client.core.push.listeners import Listener

# Java's ConsumeReturnType.
_SUCCESS: Final = 0
_RAISED: Final = 2
_FAILED: Final = 4


def hooked(
    listener: Listener,
    group: str,
    hooks: Sequence[ConsumeHook],
    ports: Ports,
) -> Listener:
    """Wrap the listener if there are hooks; `group` is the name without namespace."""
    return HookedListener(listener, group, hooks, ports) if hooks else listener


@final
class HookedListener:
    """Calls the hooks before, the listener, and the hooks after."""

    __slots__ = ("_group", "_hooks", "_listener", "_ports")

    def __init__(
        self, listener: Listener, group: str, hooks: Sequence[ConsumeHook], ports: Ports
    ) -> None:
        self._listener = listener
        self._group = group
        self._hooks = hooks
        self._ports = ports

    def __call__(self, messages: list[ReceivedMessage]) -> Outcome | Awaitable[Outcome]:
        clock = self._ports.clock
        context = ConsumeContext(self._group, messages[0].queue, messages, clock.wall_ms())
        began = clock.monotonic()
        self._tell([partial(hook.before_consume, context) for hook in self._hooks])
        try:
            outcome = self._listener(messages)
        except Exception:
            self._after(context, began, _RAISED)
            raise
        if isinstance(outcome, Awaitable):
            return self._awaited(outcome, context, began)
        self._after(context, began, _code(outcome))
        return outcome

    async def _awaited(
        self, awaitable: Awaitable[Outcome], context: ConsumeContext, began: float
    ) -> Outcome:
        try:
            outcome = await awaitable
        except Exception:
            self._after(context, began, _RAISED)
            raise
        self._after(context, began, _code(outcome))
        return outcome

    def _after(self, context: ConsumeContext, began: float, code: int) -> None:
        context.outcome = code
        context.is_success = code == _SUCCESS
        context.cost_ms = round((self._ports.clock.monotonic() - began) * 1000)
        self._tell([partial(hook.after_consume, context) for hook in self._hooks])

    def _tell(self, calls: list[Callable[[], None]]) -> None:
        call_all(calls, self._ports.log)


def _code(outcome: Outcome) -> int:
    is_success = outcome is None or outcome is SUCCESS or outcome is COMMIT
    return _SUCCESS if is_success else _FAILED
