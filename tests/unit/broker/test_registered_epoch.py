"""A member's registration says which reign it knows: an old master cannot pass for the new one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gantrymq.broker.core.messages import Register
from gantrymq.fakes.members import FakeMembers
from gantrymq.fakes.servers import Servers, servers


def epochs(running: Servers) -> list[int]:
    """Of the brokers that the name server knows."""
    return [each.epoch for each in running.names.core.state.routes.members.values()]


async def test_the_name_server_knows_the_epoch_of_a_member(tmp_path: Path) -> None:
    async with servers(tmp_path) as running:
        assert epochs(running) == [0], "its roles are fixed"
        state = running.broker.state
        state.members = FakeMembers()
        state.effects.add(Register())
        await running.store("a message, so that there is a turn")
        for _ in range(1000):
            if epochs(running) == [1]:
                break
            await asyncio.sleep(0.01)
        assert epochs(running) == [1]
