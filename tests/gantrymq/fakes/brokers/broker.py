"""Runs a broker on a simulated disk with a virtual clock, driven by hand.

broker = OpenedBroker()
reply = broker.ask(RequestCode.GET_MAX_OFFSET, GetMaxOffsetRequest(topic="T", queue_id=0))
broker.pass_time(30.0)
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence

from gantrymq.audit.record import AuditRecord
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.context import Identity
from gantrymq.broker.core.messages import (
    Answer,
    AskBroker,
    AskClient,
    AskNameServers,
    Audit,
    AwaitRegistration,
    CloseChannel,
    DelayChannel,
    Effect,
    File,
    LogLine,
    Register,
    Release,
    Replies,
    Reply,
    Request,
    SaveFile,
    Silent,
    Spread,
    Tell,
)
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import State
from gantrymq.fakes.stores.store import OpenedStore
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.header import Header
from gantrymq.wire.version import OWN_VERSION

IDENTITY = Identity("broker-a", "DefaultCluster", 0, "127.0.0.1:10911", "127.0.0.1:10912")
STORE_SETTINGS = StoreSettings(
    mapped_file_size_commit_log=1 << 20,
    mapped_file_size_consume_queue=20_000,
    max_hash_slot_num=500,
    max_index_num=2_000,
)
START_MS = 1_700_000_000_000
MEMORY_BYTES = 1 << 30
DISK_BYTES = 1 << 28  # a store keeps a share of it in reserve, which takes time to allocate
ROUNDS_MAX = 1_000
_ports = itertools.cycle(range(40_000, 60_000))


class FakeChannel:
    """A client's connection; records what the broker sends on it."""

    def __init__(self, listener: str = "internal") -> None:
        self.listener = listener
        self.peer = f"127.0.0.1:{next(_ports)}"
        self.certificate_names: tuple[str, ...] = ()
        self.is_closing = False
        self.told: list[Command] = []
        self.asked: list[AskClient] = []
        self.close_reason: str | None = None
        self.delays: list[float] = []


class OpenedBroker:
    """A running broker core. Files are saved at once into `saved`, from which another core can
    start; the disk completes its work after each call unless `disk_is_stuck`."""

    def __init__(
        self,
        settings: BrokerSettings | None = None,
        store_settings: StoreSettings = STORE_SETTINGS,
        *,
        disk: FaultyDisk | MemoryDisk | None = None,
        files: Mapping[File, bytes] | None = None,
        identity: Identity = IDENTITY,
    ) -> None:
        self.opened = OpenedStore(
            disk or MemoryDisk(total_bytes=DISK_BYTES),
            store_settings,
            is_copy=not identity.is_master,
        )
        self.state = State(
            settings or BrokerSettings(),
            identity,
            self.opened.store,
            chance=random.Random(0).randrange,
            memory_bytes=MEMORY_BYTES,
            now=0.0,
            wall_ms=START_MS,
        )
        self.broker = Broker(self.state)
        self.services = self.broker.services
        self.channel = FakeChannel()
        self.now = 0.0
        self.disk_is_stuck = False
        self.files_are_stuck = False
        self.name_servers_hang = False
        self.unwritten: list[SaveFile] = []
        self.saved: dict[File, bytes] = {}
        self.lines: list[LogLine] = []
        self.audited: list[AuditRecord] = []
        self.registered: list[Register] = []
        self.awaited_registrations: list[AwaitRegistration] = []
        self.spread: list[Spread] = []
        self.replies: list[Replies] = []
        self.asked_name_servers: list[AskNameServers] = []
        self.asked_brokers: list[AskBroker] = []
        self.reachable: dict[str, OpenedBroker] = {}
        """The brokers that its requests to other brokers reach, by address."""
        self._answers: dict[Request, Command | None] = {}
        for file, content in (files or {}).items():
            self.broker.loaders[file](content)
        self.broker.begin(self.now, self.wall_ms)

    @property
    def wall_ms(self) -> int:
        return START_MS + int(self.now * 1000)

    # ------------------------------------------------------------------ requests

    def send(
        self,
        code: RequestCode,
        header: Header | None = None,
        body: bytes = b"",
        *,
        channel: FakeChannel | None = None,
        is_oneway: bool = False,
        ext: dict[str, str] | None = None,
        version: int = OWN_VERSION,
        language: int = 0,
    ) -> Request:
        """Pass a request to the core and run all turns that are due; see `answer`."""
        fields = {**({} if header is None else header.encode()), **(ext or {})}
        flag = FLAG_ONEWAY if is_oneway else 0
        command = Command(
            code, flag=flag, ext=fields, body=body, version=version, language=language
        )
        request = Request(command, channel or self.channel)
        outcome = self.broker.handle(request, self.now, self.wall_ms)
        if isinstance(outcome, Reply):
            self._answers[request] = outcome.command
        elif isinstance(outcome, Silent):
            self._answers[request] = None
        self.settle()
        return request

    def answer(self, request: Request) -> Command | None:
        """The response to a request, None for no response; KeyError while the request is held."""
        return self._answers[request]

    def is_held(self, request: Request) -> bool:
        return request not in self._answers

    def ask(
        self,
        code: RequestCode,
        header: Header | None = None,
        body: bytes = b"",
        *,
        channel: FakeChannel | None = None,
        ext: dict[str, str] | None = None,
        version: int = OWN_VERSION,
    ) -> Command:
        """The response to a request that is not held."""
        request = self.send(code, header, body, channel=channel, ext=ext, version=version)
        answer = self.answer(request)
        assert answer is not None
        return answer

    # ------------------------------------------------------------------ time

    def settle(self) -> None:
        """Run turns until no work is due at this moment."""
        for _ in range(ROUNDS_MAX):
            self.broker.turn(self.now, self.wall_ms)
            effects = self.broker.take_effects()
            for effect in effects:
                self._carry_out(effect)
            if self.opened.background.jobs and not self.disk_is_stuck:
                self.opened.background.complete_all()
            elif not effects and self.broker.deadline() > self.now:
                return
        raise AssertionError("it never settles")

    def pass_time(self, seconds: float) -> None:
        """Advance the clock and run a turn at every deadline on the way."""
        end = self.now + seconds
        while (due := self.broker.deadline()) <= end:
            self.now = max(self.now, due)
            self.settle()
        self.now = end
        self.settle()

    def close(self, channel: FakeChannel) -> None:
        """Close a client's connection."""
        channel.is_closing = True
        self.broker.closed(channel, self.now, self.wall_ms)
        self.settle()

    def write(self, save: SaveFile, failure: str | None = None) -> None:
        """Complete one of the `unwritten` saves; called at once unless `files_are_stuck`."""
        self.unwritten.remove(save)
        if failure is None:
            self.saved[save.file] = save.content
        self.broker.written(save.file, failure, self.now, self.wall_ms)

    def name_servers_know(self, awaited: AwaitRegistration) -> None:
        """Complete one of the `awaited_registrations`; called at once unless
        `name_servers_hang`."""
        self.awaited_registrations.remove(awaited)
        self.broker.client_answered(awaited.number, None, self.now, self.wall_ms)

    def client_answers(self, asked: AskClient | AskNameServers, response: Command | None) -> None:
        self.broker.client_answered(asked.number, response, self.now, self.wall_ms)
        self.settle()

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Answer):
            self._answers[effect.request] = effect.command
        elif isinstance(effect, Release):
            self._answers[effect.request] = None
        elif isinstance(effect, SaveFile):
            self.unwritten.append(effect)
            if not self.files_are_stuck:
                self.write(effect)
        elif isinstance(effect, Tell | AskClient | CloseChannel | DelayChannel):
            self._reach(effect)
        elif isinstance(effect, AskNameServers):
            self.asked_name_servers.append(effect)
        elif isinstance(effect, AskBroker):
            self._ask_broker(effect)
        elif isinstance(effect, LogLine | Audit):
            self._note(effect)
        elif isinstance(effect, Register | AwaitRegistration):
            self._register(effect)
        elif isinstance(effect, Spread):
            self.spread.append(effect)
        else:
            self.replies.append(effect)

    def _note(self, effect: LogLine | Audit) -> None:
        if isinstance(effect, Audit):
            self.audited.append(effect.record)
            return
        if effect.cause is not None:
            raise effect.cause
        self.lines.append(effect)

    def _register(self, effect: Register | AwaitRegistration) -> None:
        if isinstance(effect, Register):
            self.registered.append(effect)
            return
        self.awaited_registrations.append(effect)
        if not self.name_servers_hang:
            self.name_servers_know(effect)

    def _ask_broker(self, effect: AskBroker) -> None:
        self.asked_brokers.append(effect)
        answer: Command | str = f"cannot connect to {effect.address}"
        if effect.address in self.reachable:
            command = effect.command
            code = RequestCode(command.code)
            answer = self.reachable[effect.address].ask(
                code, body=command.body, ext=dict(command.ext or {})
            )
        self.broker.broker_answered(effect.number, answer, self.now, self.wall_ms)

    @staticmethod
    def _reach(effect: Tell | AskClient | CloseChannel | DelayChannel) -> None:
        """Pass an effect on to the client that it concerns."""
        channel = effect.channel
        assert isinstance(channel, FakeChannel)
        if isinstance(effect, Tell):
            channel.told.append(effect.command)
        elif isinstance(effect, AskClient):
            channel.asked.append(effect)
        elif isinstance(effect, DelayChannel):
            channel.delays.append(effect.seconds)
        else:
            channel.close_reason = effect.reason

    # ------------------------------------------------------------------ what is stored

    def bodies(self, topic: str, queue_id: int = 0) -> Sequence[bytes]:
        """The bodies of the messages that consumers find in a queue."""
        return [record.body for record in self.opened.records(topic, queue_id)]
