"""Access control of this broker: the rules in force, and a change of them on its way to the file.

    replace(rules)                      the file has others: they count at once
    begin(rules), commit(), drop()      a request changes them: they count when the file has them

Invariant: with aclEnable there is a guard from the beginning, and until it is given rules it lets
nobody in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from gantrymq.acl import plain_acl
from gantrymq.acl.accounts import Rules
from gantrymq.acl.guard import Guard
from gantrymq.acl.needs import BROKER_ADMIN
from gantrymq.broker.core.messages import Reply, Request
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.remoting.refusal import failed

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State


@final
class Access:
    """Of one broker. `guard` is None where everybody may do everything."""

    __slots__ = ("_coming", "guard")

    def __init__(self, settings: BrokerSettings) -> None:
        self.guard = Guard(Rules(), BROKER_ADMIN) if settings.acl_enable else None
        self._coming: Rules | None = None

    @property
    def is_changing(self) -> bool:
        return self._coming is not None

    def replace(self, rules: Rules) -> None:
        """The file was read anew."""
        assert self.guard is not None, "nobody reads rules that are not asked"
        self.guard.replace(rules)

    def begin(self, rules: Rules) -> None:
        """From now on the file shall hold these."""
        assert self._coming is None, "one change at a time"
        self._coming = rules

    def commit(self) -> None:
        """The file has them."""
        assert self._coming is not None, "nothing was begun"
        self.replace(self._coming)
        self._coming = None

    def drop(self) -> None:
        """The file could not be written."""
        self._coming = None

    def content(self) -> bytes:
        """What the file must hold now."""
        assert self.guard is not None, "there is no file without rules"
        return plain_acl.write(self._coming or self.guard.rules)


def refuse(state: State, request: Request) -> Reply | None:
    """The answer to whoever may not ask this."""
    guard = state.access.guard
    refusal = None if guard is None else guard.check(request.command, request.channel.peer)
    if refusal is None:
        return None
    state.effects.warning(
        f"a request was refused, code {request.command.code} from {request.channel.peer}:"
        f" {refusal.remark}"
    )
    return Reply(failed(refusal.remark))
