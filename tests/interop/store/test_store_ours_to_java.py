"""Tests that a Java broker opens a store of Gantry, serves it and continues it.

Java's clients ask the broker for every message in every way there is, and get what was written.
Then producers send more of every kind, and Gantry opens the store that the broker leaves: after a
clean stop if Gantry had stopped cleanly, killed if Gantry was killed.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gantrymq.interop.releases import NEWEST, OLDEST
from gantrymq.interop.store import store_contents, store_sendings
from gantrymq.interop.store.store_contents import Contents, Rule, first_at_or_after, next_to
from gantrymq.interop.store.store_messages import DELIVERED, DUE_LEVEL, DUE_ROUNDS, SCHEDULE, Told
from gantrymq.interop.store.store_reader import OurReader
from gantrymq.interop.store.store_writer import Fate, fill, opened, settings
from gantrymq.interop.stores import (
    JavaReader,
    StoreBroker,
    StoreClient,
    stamp_queues,
    write_topics,
)
from gantrymq.wire import hosts

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

DELIVERY_SECONDS = 30.0


@pytest.fixture(scope="module", params=[NEWEST, OLDEST])
def client(request: pytest.FixtureRequest, folder: Callable[[str], Path]) -> Iterator[StoreClient]:
    """Java's clients of each release; the broker has the same release."""
    with StoreClient(request.param, folder(f"store-client-{request.param}")) as running:
        yield running


@pytest.mark.parametrize("fate", Fate)
def test_java_broker_serves_gantrys_store_and_gantry_serves_the_continued_one(
    client: StoreClient, folder: Callable[[str], Path], fate: Fate
) -> None:
    broker = StoreBroker(client.version, folder(f"ours-{fate.value}-{client.version}"))
    written = fill(broker.store, hosts.parse(broker.address), fate)
    assert (broker.store / "abort").exists() == (fate is Fate.KILLED)
    stamp_queues(broker.store, written)
    write_topics(broker.store)
    with broker:
        reader = JavaReader(client, broker)
        add_delivered(written, reader)
        assert store_contents.differences(reader, written, rule_of(client.version, fate)) == []
        sent = store_sendings.send_all(client, broker, turn=1)
        contents = reader.contents()
        assert contents.begins_with(written)
        assert store_sendings.differences(sent, contents) == []
        if fate is Fate.CLEAN:
            broker.finish()
        else:
            broker.kill()
    with opened(broker.store, settings()) as store:
        assert not store.report.is_marked, "what Java wrote is taken for ours"
        assert store_contents.differences(OurReader(store), contents) == []


def rule_of(version: str, fate: Fate) -> Rule | None:
    """How the release searches by time.

    4.9 goes by when files were changed: those it has just recovered are all of now.
    """
    if version == NEWEST:
        return first_at_or_after
    return next_to if fate is Fate.CLEAN else None


def add_delivered(written: Contents, reader: JavaReader) -> None:
    """Add the delayed messages that are due, as the broker delivers them."""
    queue = DELIVERED, 0
    reader.wait_for(queue, DUE_ROUNDS, DELIVERY_SECONDS)
    delivered = reader.pull(queue).messages
    delayed = written.queues[SCHEDULE, DUE_LEVEL - 1]
    assert [lasting(message) for message in delivered] == [lasting(each) for each in delayed]
    written.queues[queue] = list(delivered)


def lasting(message: Told) -> Told:
    """The fields that delivery does not change."""
    names = ("body", "bornTimestamp", "bornHost", "flag", "reconsumeTimes")
    return {name: message[name] for name in names}
