"""Makes sends as producers do, and topics for them."""

from __future__ import annotations

from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.headers.send import SendMessageV2Request
from gantrymq.wire.message.properties import encode

UNIQUE = "C000020268CB30946E09674E98260000"
BORN_MS = 1_699_999_999_000


def message(
    topic: str = "T",
    *,
    queue_id: int = 0,
    properties: dict[str, str] | None = None,
    default_topic: str = "TBW102",
    queues: int = 4,
    sys_flag: int = 0,
    reconsume_times: int | None = 0,
    max_reconsume_times: int | None = None,
    unit_mode: bool | None = False,
    batch: bool | None = False,
) -> SendMessageV2Request:
    """The header of a send; its properties have UNIQ_KEY unless others are given."""
    return SendMessageV2Request(
        producer_group="PG",
        topic=topic,
        default_topic=default_topic,
        default_topic_queue_nums=queues,
        queue_id=queue_id,
        sys_flag=sys_flag,
        born_timestamp=BORN_MS,
        flag=7,
        properties=encode({"UNIQ_KEY": UNIQUE} if properties is None else properties).decode(),
        reconsume_times=reconsume_times,
        unit_mode=unit_mode,
        max_reconsume_times=max_reconsume_times,
        batch=batch,
        broker_name="broker-a",
    )


def add_topic(broker: OpenedBroker, topic: str = "T", *, queues: int = 4) -> TopicConfig:
    """Create an ordinary topic of the broker."""
    config = TopicConfig(topic, read_queue_nums=queues, write_queue_nums=queues)
    broker.state.topics.put(config, broker.wall_ms)
    return config
