"""Sends administration requests and raises refusals with the server's address, code and remark.

Invariant: a request to several servers keeps the outcome of each server; `Each.all()` is for
callers that need every server to succeed. At most AT_ONCE_MAX requests run concurrently, because
the addresses or names can be thousands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar, final

from gantrymq.client.core.flow.answers import accepted
from gantrymq.client.core.flow.flow_steps import All, Ask, Flow
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.pace import SILENT, Pace
from gantrymq.wire import javajson
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.jsonvalue import Json

T = TypeVar("T")

AT_ONCE_MAX: Final = 32


@dataclass(frozen=True, slots=True)
class Each(Generic[T]):
    """The outcomes of one request to several servers, by address."""

    done: Mapping[str, T] = field(default_factory=dict)
    failed: Mapping[str, Exception] = field(default_factory=dict)

    def all(self) -> Mapping[str, T]:
        """Return every response; raise the first failure if there is one."""
        for failure in self.failed.values():
            raise failure
        return self.done


@final
class Asking:
    """Sends the requests of one Administration object."""

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
        """Return the response of a server that accepted the request; raises BrokerError or
        RequestError. `own_fields` are Gantry's additions to the fields of Java's header; Java
        servers ignore them."""
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
        """Send a request and parse the JSON body of the response."""
        answer = await self.ask(address, code, header, timeout_s=timeout_s)
        return parse(javajson.loads(answer.body, references=True))

    async def ask_a_name_server(self, code: RequestCode, header: Header | None = None) -> Command:
        """Ask the first name server that can be reached; raises BrokerError or RouteError."""
        names = self.instance.name_servers
        answer = await names.ask(Command(code, ext=None if header is None else header.encode()))
        return accepted(answer, names.current)

    async def ask_every_name_server(
        self, code: RequestCode, header: Header | None = None, body: bytes = b""
    ) -> Each[Command]:
        """Send a request to every name server. They do not replicate, so each change goes to all of
        them."""

        async def ask(address: str) -> Command:
            command = Command(code, ext=None if header is None else header.encode(), body=body)
            return accepted(await Ask(address, command, self.timeout_s), address)

        return await on_each(self.instance.name_servers.addresses, ask)


async def on_each(
    addresses: Iterable[str], flow: Callable[[str], Flow[T]], pace: Pace = SILENT
) -> Each[T]:
    """Run the flow for each distinct address (or name), AT_ONCE_MAX at a time."""
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
