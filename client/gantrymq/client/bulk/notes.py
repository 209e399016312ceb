"""Pins the layout of a topic for an epoch: the layout that the first run of a batch found.

A later run of the same batch may find other queues. It would then send rows to other queues, where
the brokers do not know that the rows were stored before. So the first run stores a note with its
layout at the first broker of the layout, and each later run asks all brokers for that note.

A note is lost only if the broker that has it is removed between two runs of a batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, final

from gantrymq.client.bulk.connections import Connections
from gantrymq.client.bulk.errors import NotSupportedError
from gantrymq.client.bulk.layout import Layout
from gantrymq.client.bulk.outgoing import Origin
from gantrymq.client.core.errors import BrokerError, RouteError, SendError
from gantrymq.remoting.failures import RequestError
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

WAIT_SECONDS: Final = 0.2

_FINAL: Final = frozenset(
    {
        ResponseCode.GANTRY_SESSION_FENCED,
        ResponseCode.INVALID_PARAMETER,
        ResponseCode.MESSAGE_ILLEGAL,
        ResponseCode.NO_PERMISSION,
    }
)


@final
class LayoutNotes:
    """Reads and stores notes at masters, for one sender."""

    def __init__(
        self,
        connections: Connections,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connections = connections
        self._wait = wait

    def pinned(self, origin: Origin, proposal: Layout) -> Layout:
        """Return the layout of this epoch; raises SendError if a broker does not respond."""
        session = f"{origin.name}/layout/{proposal.topic}:{origin.epoch}:0"
        brokers = proposal.broker_names
        for broker_name in brokers:
            note = self._ask(proposal.topic, broker_name, session)
            if note is not None:
                return Layout.decode(proposal.topic, note)
        note = self._ask(proposal.topic, brokers[0], session, proposal.encode())
        assert note is not None, "the broker answers a proposal with the note"
        return Layout.decode(proposal.topic, note)

    def _ask(
        self, topic: str, broker_name: str, session: str, proposal: bytes = b""
    ) -> bytes | None:
        """Return the note, or None; retries while the broker does not respond."""
        recover_s = self._connections.settings.recover_s
        deadline = time.monotonic() + recover_s
        while True:
            ext = {"topic": topic, "session": session}
            command = Command(RequestCode.GANTRY_SESSION_NOTE, ext=ext, body=proposal)
            try:
                connection = self._connections.master(topic, broker_name)
                answer = connection.ask(command)
            except (RequestError, RouteError) as error:
                cause: Exception = error
            else:
                if answer.code == ResponseCode.SUCCESS:
                    return answer.body
                if answer.code == ResponseCode.QUERY_NOT_FOUND:
                    return None
                cause = BrokerError(answer.code, answer.remark, connection.address)
                _raise_final(cause, broker_name)
            if time.monotonic() > deadline:
                raise SendError(
                    f"broker {broker_name} did not return the layout of the batch for"
                    f" {recover_s:.0f} s: {cause}",
                    (cause,),
                ) from cause
            self._connections.forget_routes()
            self._wait(WAIT_SECONDS)


def _raise_final(error: BrokerError, broker_name: str) -> None:
    """Raise an error that a retry does not cure."""
    if error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
        raise NotSupportedError(
            f"broker {broker_name} does not support producer sessions, as only Gantry's brokers do;"
            " it would store messages that are sent again twice. Set delivery to at-least-once.",
            (error,),
        ) from error
    if error.code in _FINAL:
        raise SendError(f"broker {broker_name} refused: {error}", (error,)) from error
