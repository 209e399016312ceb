"""Plays scenarios of Gantry's client against one broker, many at once on one event loop."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Final, Self

from gantrymq.interop.own.own_row import OwnRow
from gantrymq.interop.own.own_stage import OwnStage
from gantrymq.interop.servers import Broker

AT_ONCE: Final = 12  # most of a scenario is waiting
PLAY_SECONDS: Final = 120.0  # longer than each of its own waits
# mqadmin gives a server a fifth of a second for some of its questions.
BUSY: Final = "RemotingTimeoutException"
TRIES: Final = 5


class OwnPlays:
    """The outcome of each scenario at one broker. All scenarios start together."""

    def __init__(
        self, broker: Broker, mqadmin: Callable[..., str], chosen: Sequence[OwnRow]
    ) -> None:
        """`mqadmin` returns the output of the real one, for a name server, command and options."""
        self._broker = broker
        self._mqadmin = mqadmin
        self._chosen = chosen
        self._outcomes: dict[str, Future[None]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._hands = asyncio.Semaphore(AT_ONCE)

    def outcome(self, row: OwnRow) -> None:
        """Wait for the end of that scenario; raises its error."""
        self._outcomes[row.feature].result()

    async def _play(self, row: OwnRow, name: str) -> None:
        async with (
            self._hands,
            asyncio.timeout(PLAY_SECONDS),
            OwnStage(self._broker, name, self._ask_mqadmin) as stage,
        ):
            await row.play(stage)

    async def _ask_mqadmin(self, command: str, *options: str) -> str:
        server = self._broker.name_servers[0]
        for _ in range(TRIES):
            printed = await asyncio.to_thread(self._mqadmin, server, command, *options)
            if BUSY not in printed:
                return printed
        raise TimeoutError(f"mqadmin {command} had no answer {TRIES} times")

    def __enter__(self) -> Self:
        self._thread.start()
        # Names differ by broker: broadcast groups keep their offsets in files of this machine.
        port = self._broker.address.rpartition(":")[2]
        for number, row in enumerate(self._chosen):
            play = self._play(row, f"own{port}-{number}")
            self._outcomes[row.feature] = asyncio.run_coroutine_threadsafe(play, self._loop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for outcome in self._outcomes.values():
            outcome.cancel()
        asyncio.run_coroutine_threadsafe(_all_ended(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _all_ended() -> None:
    """Cancel the scenarios and let them close their clients."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
