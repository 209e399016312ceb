"""A member's registration says which reign it knows: an old master cannot pass for the new one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gantrymq.broker.core.messages import Register
from gantrymq.broker.peers import registrar
from gantrymq.fakes.connections import until
from gantrymq.fakes.groups.members import FakeMembers
from gantrymq.fakes.servers import Servers, servers
from gantrymq.wire.bodies.shared import TopicConfig


def epochs(running: Servers) -> list[int]:
    """The epochs of the brokers that the name server knows."""
    return [each.epoch for each in running.names.core.state.routes.members.values()]


async def test_the_name_server_knows_the_epoch_of_a_member(tmp_path: Path) -> None:
    async with servers(tmp_path) as running:
        await until(lambda: epochs(running) == [0])  # its roles are fixed
        state = running.broker.state
        state.members = FakeMembers()
        state.effects.add(Register())
        await running.store("a message, so that there is a turn")
        await until(lambda: epochs(running) == [1])


async def test_registration_of_an_ended_epoch_is_not_sent_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is told is compressed in a thread; meanwhile the broker hears of a newer master."""
    async with servers(tmp_path, compressedRegister="true") as running:
        await running.store("a message, so that there is a topic")
        state = running.broker.state
        members = FakeMembers()
        encoded = registrar._encoded

        def slowly(*arguments: object, **more: object) -> bytes:
            members.epoch = 2
            state.identity = replace(state.identity, broker_id=1)
            return encoded(*arguments, **more)  # type: ignore[arg-type]  # passed on

        monkeypatch.setattr(registrar, "_encoded", slowly)
        state.members = members
        state.topics.put(TopicConfig("New"), 1)
        running.broker._registrar.changed()
        await until(lambda: epochs(running) == [2])
        known = running.names.core.state.routes.members.values()
        assert [(each.broker_id, each.epoch) for each in known] == [(1, 2)]
