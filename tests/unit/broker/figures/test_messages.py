"""Tests MessageFigures: which messages count, and for which topic and type."""

from gantrymq.broker.core.figures.messages import FIFO, NORMAL, MessageFigures
from gantrymq.broker.core.figures.tally import IDLE_SWEEPS
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.metrics import page_of
from gantrymq.store.append.kernel_counts import KernelCounts, SizeCounts
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.message.sys_flag import TRANSACTION_PREPARED

UNIQUE = {"UNIQ_KEY": "C000020268CB30946E09674E98260000"}


def sent(broker: OpenedBroker, **properties: str) -> None:
    header = message(properties={**UNIQUE, **properties})
    broker.ask(RequestCode.SEND_MESSAGE_V2, header, b"x" * 100)


def counted(broker: OpenedBroker) -> dict[tuple[str, str], int]:
    """The counts of sent messages, by topic and type."""
    items = broker.state.figures.sent.items()
    return {(topic, kind): counts.messages for (topic, kind), counts in items}


def test_a_message_counts_by_its_type_where_it_is_stored() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    sent(broker)
    sent(broker, __SHARDINGKEY="account")
    sent(broker, DELAY="1")
    sent(broker, TIMER_DELAY_SEC="5")
    half = message(
        properties={**UNIQUE, "TRAN_MSG": "true", "PGROUP": "PG"}, sys_flag=TRANSACTION_PREPARED
    )
    broker.ask(RequestCode.SEND_MESSAGE_V2, half, b"x")
    assert counted(broker) == {
        ("T", "normal"): 1,
        ("T", "fifo"): 1,
        ("SCHEDULE_TOPIC_XXXX", "delay"): 1,
        ("rmq_sys_wheel_timer", "delay"): 1,
        ("RMQ_SYS_TRANS_HALF_TOPIC", "transaction"): 1,
    }
    assert broker.state.figures.open_halves() == {"T": 1}
    assert dict(broker.state.figures.timers_in.items()) == {"T": 1}


def test_a_delay_level_counts_once_more_when_it_delivers_and_a_timer_does_not() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    sent(broker, DELAY="1")
    sent(broker, TIMER_DELAY_SEC="2")
    for _ in range(8):
        broker.pass_time(1.0)
    assert counted(broker)["T", "delay"] == 1
    assert dict(broker.state.figures.timers_out.items()) == {"T": 1}


def test_a_batch_counts_all_messages_and_one_mean_size() -> None:
    figures = MessageFigures()
    figures.count_sent("T", NORMAL, 3, 6000)
    ((_, counts),) = figures.sent.items()
    assert (counts.messages, counts.size) == (3, 6000)
    assert (counts.sizes.counts[:2], counts.sizes.total) == ([0, 1], 2000)


def test_messages_of_the_kernel_are_added() -> None:
    figures = MessageFigures()
    taken = SizeCounts()
    taken.note(1, 300)
    taken.note(2, 10_000)
    figures.count_kernel(KernelCounts("T", taken, is_fifo=True))
    figures.count_sent("T", FIFO, 1, 300)
    ((key, counts),) = figures.sent.items()
    assert key == ("T", FIFO)
    assert (counts.messages, counts.size) == (4, 10_600)
    assert (counts.sizes.counts[:3], counts.sizes.total) == ([2, 0, 1], 5_600)


def test_transactions_are_open_until_they_end() -> None:
    figures = MessageFigures()
    for _ in range(3):
        figures.begun.add("T")
    figures.count_commit("T", 7.0)
    figures.rolled_back.add("T")
    assert figures.open_halves() == {"T": 1}
    ((_, seconds),) = figures.finish_seconds.items()
    assert seconds.counts[:2] == [0, 1]


def test_transactions_of_before_the_start_do_not_count_below_zero() -> None:
    figures = MessageFigures()
    figures.begun.add("T")
    for _ in range(2):
        figures.count_commit("T", 1.0)
    assert figures.open_halves() == {"T": 0}


def test_series_of_a_deleted_topic_and_of_a_deleted_group_go() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    figures = broker.state.figures
    figures.count_sent("T", NORMAL, 1, 10)
    figures.count_sent("Gone", NORMAL, 1, 10)
    figures.begun.add("Gone")
    figures.dead.add(("GoneGroup", "T"))
    figures.sweep(broker.state.topics, broker.state.groups)
    assert [topic for (topic, _), _ in figures.sent.items()] == ["T"]
    assert dict(figures.begun.items()) == {}
    assert dict(figures.dead.items()) == {}


def test_open_transactions_are_not_forgotten_when_they_are_idle() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    figures = broker.state.figures
    figures.begun.add("T")
    for _ in range(IDLE_SWEEPS + 1):
        figures.sweep(broker.state.topics, broker.state.groups)
    assert figures.open_halves() == {"T": 1}


def test_page_shows_the_counted_messages() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    sent(broker)
    page = page_of(broker)
    labels = '{topic="T",message_type="normal",is_system="false"}'
    assert page[f"rocketmq_messages_in_total{labels}"] == 1
    size = page[f"rocketmq_throughput_in_total{labels}"]
    assert page[f"rocketmq_message_size_sum{labels}"] == size > 100
    assert page["gantry_broker_log_writes_total"] == 1
    assert page["gantry_broker_log_written_messages_total"] == 1
