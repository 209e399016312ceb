"""Turns refusals of servers into exceptions, for requests that are useless unless they succeed."""

from __future__ import annotations

from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.flow.flow_steps import Ask
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command


async def success(address: str, command: Command, timeout_s: float) -> Command:
    """Send a request; raises BrokerError on a refusal and RequestError if there is no response."""
    return accepted(await Ask(address, command, timeout_s), address)


def accepted(answer: Command, address: str) -> Command:
    """Return the response; raises BrokerError if it is a refusal."""
    if answer.code != ResponseCode.SUCCESS:
        raise BrokerError(answer.code, answer.remark, address)
    return answer
