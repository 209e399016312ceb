"""The answer to a request that is of no use unless it succeeds."""

from __future__ import annotations

from gantrymq.client.core.errors import BrokerError
from gantrymq.client.core.steps import Ask
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command


async def success(address: str, command: Command, timeout_s: float) -> Command:
    """Raises BrokerError when the server refuses, RequestError when it is not heard of."""
    return accepted(await Ask(address, command, timeout_s), address)


def accepted(answer: Command, address: str) -> Command:
    """The answer, unless it is a refusal."""
    if answer.code != ResponseCode.SUCCESS:
        raise BrokerError(answer.code, answer.remark, address)
    return answer
