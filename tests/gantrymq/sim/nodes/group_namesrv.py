"""Name servers of a simulated group, with their real core, and how a broker registers with them."""

from __future__ import annotations

import zlib
from typing import Final, final

from gantrymq.namesrv.core.messages import CloseChannel, Reply, Request
from gantrymq.namesrv.core.nameserver import NameServer
from gantrymq.namesrv.core.routing.brokers import Member
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.namesrv.core.state import Configuration
from gantrymq.sim.group.group_callers import Channel, Directory
from gantrymq.sim.group.group_world import Life, Place, World
from gantrymq.sim.nodes.group_process import BrokerProcess
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import RegisterBrokerRequest, RegisterBrokerResponse
from gantrymq.wire.version import OWN_VERSION

FIRST_NUMBER: Final = 90
GROUP: Final = "broker-a"
PERIOD_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 1.0
_CRC_MASK: Final = 0x7FFFFFFF


def name_server_address(index: int) -> str:
    return f"10.0.1.{index}:9876"


@final
class NameServerNode:
    """One name server; it loses nothing but what it never wrote down: everything."""

    def __init__(self, world: World, directory: Directory, index: int, drift: float) -> None:
        number = FIRST_NUMBER + index
        self.address = name_server_address(index)
        self.life = Life()
        self.place = Place(
            world, number, f"name server {index}", world.random(f"namesrv {index}"), drift
        )
        self._channels: dict[Channel, None] = {}
        self._directory = directory
        directory.numbers[self.address] = number
        self.start()

    def start(self) -> None:
        """It knows no broker."""
        self.life.is_over = True
        for channel in self._channels:
            channel.close()
        self._channels.clear()
        self.life = Life()
        self._core = NameServer(Configuration(NameServerSettings()), {}, self.place.monotonic)
        self._directory.services[self.address] = self
        self._wake()

    def serve(self, channel: Channel, command: Command) -> None:
        self._channels[channel] = None
        opaque, before = command.opaque, self._master
        place = self.place
        outcome = self._core.handle(Request(command, channel), place.monotonic, place.wall_ms)
        master = self._master
        assert before is None or master is None or before.epoch <= master.epoch, (
            f"{self.place.name} knew the master of epoch {before.epoch}, and takes the one of"
            f" {master.epoch} in its place"
        )
        self._carry_out()
        if isinstance(outcome, Reply) and not channel.is_closing:
            channel.respond(opaque, outcome.command)

    def hung_up(self, channel: Channel) -> None:
        self._channels.pop(channel, None)
        master = self._master
        self._core.closed(channel, self.place.monotonic)
        assert self._master is master, (
            f"{self.place.name} forgets the master of epoch {master and master.epoch} because a"
            " connection ended"
        )
        self._carry_out()

    @property
    def _master(self) -> Member | None:
        """That it knows, if that is of an epoch: such a one may come back."""
        group = self._core.state.routes.groups.get(GROUP)
        master = None if group is None else group.master
        return master if master is not None and master.epoch else None

    def _carry_out(self) -> None:
        for effect in self._core.take_effects():
            if isinstance(effect, CloseChannel):
                assert isinstance(effect.channel, Channel)
                effect.channel.close()
                self.hung_up(effect.channel)

    def _wake(self) -> None:
        now = self.place.monotonic
        if now >= self._core.deadline():
            self._core.expire(now)
            self._carry_out()
        self.place.after(max(0.5, self._core.deadline() - now), self._wake, self.life)


@final
class Registrations:
    """The registrations of one broker process, separate for each name server."""

    def __init__(self, process: BrokerProcess, name_servers: int) -> None:
        self._addresses = [name_server_address(index) for index in range(name_servers)]
        self._process = process
        self._rounds: dict[str, int] = dict.fromkeys(self._addresses, 0)

    def changed(self) -> None:
        """Tell it everywhere, now."""
        for address in self._addresses:
            self._rounds[address] += 1
            self._register(address, self._rounds[address])

    def _register(self, address: str, number: int) -> None:
        if self._rounds[address] != number:
            return
        process = self._process
        identity = process.state.identity
        body = b'{"filterServerList":[],"topicConfigSerializeWrapper":%b}' % (
            process.state.topics.content()
        )
        header = RegisterBrokerRequest(
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
            ha_server_addr=identity.ha_address,
            broker_id=identity.broker_id,
            compressed=False,
            body_crc32=zlib.crc32(body) & _CRC_MASK,
        )
        ext = header.encode()
        if process.epoch_told:
            ext["gantryEpoch"] = str(process.epoch_told)
        command = Command(RequestCode.REGISTER_BROKER, ext=ext, body=body, version=OWN_VERSION)

        def answered(answer: Command | str) -> None:
            is_done = isinstance(answer, Command) and answer.code == ResponseCode.SUCCESS
            if is_done and isinstance(answer, Command):
                told = RegisterBrokerResponse.decode(answer.ext)
                place = process.place
                process.core.registered(address, told, place.monotonic, place.wall_ms)
                process.turn_soon()
            else:
                process.caller.disconnect(address)
            process.place.after(
                PERIOD_SECONDS if is_done else RETRY_SECONDS,
                lambda: process.enter(lambda: self._register(address, number)),
                process.life,
            )

        process.caller.ask(
            address, command, 2.0, lambda answer: process.enter(lambda: answered(answer))
        )
