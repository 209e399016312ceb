"""How an administrator asks: what a server refuses is raised, with its address, code and remark.

Invariant: of several servers that are asked the same, each outcome is kept; `Each.all()` is for
those who need every one. So many are asked at once, and no more: names can be thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar, final

from gantrymq.client.core.admin.pace import SILENT, Pace
from gantrymq.client.core.answers import accepted
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.steps import All, Ask, Flow
from gantrymq.wire import javajson
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.jsonvalue import Json

T = TypeVar("T")

AT_ONCE_MAX: Final = 32


@dataclass(frozen=True, slots=True)
class Each(Generic[T]):
    """What came of asking several servers, by address."""

    done: Mapping[str, T] = field(default_factory=dict)
    failed: Mapping[str, Exception] = field(default_factory=dict)

    def all(self) -> Mapping[str, T]:
        """Every answer; raises the first failure when there is one."""
        for failure in self.failed.values():
            raise failure
        return self.done


@final
class Asking:
    """Of one administrator."""

    def __init__(self, instance: Instance, timeout_s: float) -> None:
        self.instance = instance
        self.timeout_s = timeout_s
        self.pace: Pace = SILENT

    async def ask(
        self,
        address: str,
        code: RequestCode,
        header: Header | None = None,
        body: bytes = b"",
        *,
        timeout_s: float | None = None,
        own_fields: Mapping[str, str] | None = None,
    ) -> Command:
        """The answer of a server that did it; raises BrokerError, or RequestError. `own_fields` are
        beside those of the header, which is Java's: servers of Java ignore them."""
        fields = None if header is None else header.encode()
        if own_fields:
            fields = {**(fields or {}), **own_fields}
        command = Command(code, ext=fields, body=body)
        answer = await Ask(self.instance.vip(address), command, timeout_s or self.timeout_s)
        return accepted(answer, address)

    async def read(
        self,
        address: str,
        code: RequestCode,
        parse: Callable[[Json], T],
        header: Header | None = None,
        *,
        timeout_s: float | None = None,
    ) -> T:
        """The body of the answer."""
        answer = await self.ask(address, code, header, timeout_s=timeout_s)
        return parse(javajson.loads(answer.body, references=True))

    async def ask_a_name_server(self, code: RequestCode, header: Header | None = None) -> Command:
        """The first one that can be reached; raises BrokerError, or RouteError."""
        names = self.instance.name_servers
        answer = await names.ask(Command(code, ext=None if header is None else header.encode()))
        return accepted(answer, names.current)

    async def ask_every_name_server(
        self, code: RequestCode, header: Header | None = None, body: bytes = b""
    ) -> Each[Command]:
        """They know nothing of each other: what is changed is changed at each."""

        async def ask(address: str) -> Command:
            command = Command(code, ext=None if header is None else header.encode(), body=body)
            return accepted(await Ask(address, command, self.timeout_s), address)

        return await on_each(self.instance.name_servers.addresses, ask)


async def on_each(
    addresses: Iterable[str], flow: Callable[[str], Flow[T]], pace: Pace = SILENT
) -> Each[T]:
    """The flow of every address (or name), side by side."""
    each = tuple(dict.fromkeys(addresses))
    done: dict[str, T] = {}
    failed: dict[str, Exception] = {}

    async def told(address: str) -> T:
        try:
            return await flow(address)
        finally:
            pace.advance()

    pace.begin(len(each))
    for start in range(0, len(each), AT_ONCE_MAX):
        part = each[start : start + AT_ONCE_MAX]
        results = await All([told(address) for address in part])
        for address, result in zip(part, results, strict=True):
            if isinstance(result, Exception):
                failed[address] = result
            else:
                done[address] = result
    pace.end()
    return Each(done, failed)
