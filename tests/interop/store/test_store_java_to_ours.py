"""Tests that Gantry opens and serves a store that Java brokers and producers filled.

The broker is killed once, its store copied, and started again; the second time it stops cleanly.
Its store must hold what its own clients read from it, which is what producers were told. In the end
Gantry continues the store, and the broker opens it again.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gantrymq.interop.releases import NEWEST, OLDEST
from gantrymq.interop.store import store_contents, store_sendings
from gantrymq.interop.store.store_contents import Contents
from gantrymq.interop.store.store_messages import DELIVERED, DUE_ROUNDS
from gantrymq.interop.store.store_reader import OurReader
from gantrymq.interop.store.store_sendings import ARRIVAL_SECONDS, Sent
from gantrymq.interop.store.store_writer import Fate, fill, opened, settings
from gantrymq.interop.stores import JavaReader, StoreBroker, StoreClient, write_topics
from gantrymq.wire import hosts

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@dataclass(frozen=True, slots=True)
class Left:
    """The store that a broker left, and the messages it had served."""

    store: Path
    sent: tuple[Sent, ...]
    contents: Contents


@dataclass(frozen=True, slots=True)
class History:
    """A broker that was killed and, later, stopped cleanly."""

    client: StoreClient
    broker: StoreBroker
    left: dict[Fate, Left]


@pytest.fixture(scope="module", params=[NEWEST, OLDEST])
def history(request: pytest.FixtureRequest, folder: Callable[[str], Path]) -> Iterator[History]:
    """The broker of each release."""
    version: str = request.param
    broker = StoreBroker(version, folder(f"java-{version}"))
    write_topics(broker.store)
    with StoreClient(version, folder(f"java-client-{version}")) as client:
        with broker:
            reader = JavaReader(client, broker)
            first = tuple(store_sendings.send_all(client, broker, turn=1))
            killed = Left(broker.folder / "killed", first, reader.contents())
            broker.kill()
            shutil.copytree(broker.store, killed.store)
            broker.start()
            second = tuple(store_sendings.send_all(client, broker, turn=2))
            clean = Left(broker.folder / "clean", first + second, reader.contents())
            broker.finish()
            shutil.copytree(broker.store, clean.store)
        yield History(client, broker, {Fate.KILLED: killed, Fate.CLEAN: clean})


@pytest.mark.parametrize("fate", Fate)
def test_gantry_serves_what_producers_sent(history: History, fate: Fate) -> None:
    left = history.left[fate]
    assert store_sendings.differences(left.sent, left.contents) == []
    assert (left.store / "abort").exists() == (fate is Fate.KILLED)
    with opened(left.store, settings()) as store:
        assert store_contents.differences(OurReader(store), left.contents) == []


def test_java_opens_the_store_that_gantry_continued(history: History) -> None:
    broker, before = history.broker, history.left[Fate.CLEAN].contents
    written = fill(broker.store, hosts.parse(broker.address), Fate.KILLED)
    expected = Contents.of([*before.messages(), *written.messages()])
    with broker:
        reader = JavaReader(history.client, broker)
        delivered = len(before.queues[DELIVERED, 0])
        reader.wait_for((DELIVERED, 0), delivered + DUE_ROUNDS, ARRIVAL_SECONDS)
        contents = reader.contents()
        assert contents.begins_with(expected)
        assert contents.queues.keys() == expected.queues.keys()
        # Java finds its own files by their modification time, which the copy has changed.
        assert store_contents.differences(reader, contents, rule=None) == []
