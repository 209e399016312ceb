"""Defines scenarios of queries, and of other features: traces, replies, pop."""

import json
from typing import Final

from gantrymq.interop.clients.scenarios.scenario import Rows, bodies, numbered
from gantrymq.interop.clients.stage import Message, Stage, now_ms
from gantrymq.interop.wire import Request

RESET_OFFSETS, SET_MESSAGE_REQUEST_MODE = 222, 401
TRACES: Final = "RMQ_SYS_TRACE_TOPIC"

ROWS: Final = Rows()


@ROWS.add("query by offset id, unique key and key", "queries")
def query(stage: Stage) -> None:
    topic, producer = stage.topic(), stage.producer()
    messages = [Message(topic, f"{topic}/{n}", key=f"{topic}-key{n % 2}") for n in range(6)]
    results = producer.send(messages)
    for message, result in zip(messages, results, strict=True):
        assert producer.view(topic, result.offset_id).body == message.body
    last = messages[-1]
    stage.wait_until(
        lambda: last.body in bodies(producer.find(topic, last.key)), "the index has the last one"
    )
    for message, result in zip(messages, results, strict=True):
        assert producer.view(topic, result.id).body == message.body
    found = producer.find(topic, f"{topic}-key1")
    assert sorted(bodies(found)) == sorted(bodies(messages[1::2]))


@ROWS.add("offsets reset to a time, while the consumer runs")
def reset_offsets(stage: Stage) -> None:
    topic, group = stage.topic(), stage.name("group")
    before, after = numbered(topic, 8), numbered(topic, 16)[8:]
    producer, consumer = stage.producer(), stage.consumer(topic, group=group)
    producer.send(before)
    consumer.gets_exactly(bodies(before))
    began_ms = now_ms()
    producer.send(after)
    consumer.gets_exactly(bodies(before + after))
    reset = {"topic": topic, "group": group, "timestamp": str(began_ms), "isForce": "true"}
    answer = stage.broker.ask(Request(RESET_OFFSETS, reset))
    assert answer.code == 0, answer
    consumer.gets_exactly(bodies(before + after + after))


@ROWS.add("traces of sending and consuming", "traces")
def traces(stage: Stage) -> None:
    topic, producer = stage.topic(), stage.producer(trace=True)
    consumer = stage.consumer(topic, trace=True)
    (result,) = producer.send(numbered(topic, 1))
    consumer.received(1)

    def kinds() -> set[str]:
        found = producer.find(TRACES, result.id)
        records = [each for trace in found for each in trace.body.split("\x02") if each]
        return {each.split("\x01")[0] for each in records if result.id in each}

    stage.wait_until(lambda: kinds() >= {"Pub", "SubBefore", "SubAfter"}, "there are traces")


@ROWS.add("requests and replies", "requests")
def request_and_reply(stage: Stage) -> None:
    topic, producer = stage.topic(), stage.producer()
    stage.consumer(topic, replier=producer.name)
    for n in range(3):
        assert producer.request(Message(topic, f"question {n}")) == f"re: question {n}"


@ROWS.add("pop consumption", "pop")
def pop(stage: Stage) -> None:
    """The broker distributes single messages."""
    topic, group = stage.topic(), stage.name("group")
    mode = {"topic": topic, "consumerGroup": group, "mode": "POP", "popShareQueueNum": 0}
    answer = stage.broker.ask(Request(SET_MESSAGE_REQUEST_MODE, body=json.dumps(mode).encode()))
    assert answer.code == 0, answer
    consumer = stage.consumer(topic, group=group, pop=True)
    messages = numbered(topic, 50)
    stage.producer().send(messages)
    consumer.gets_exactly(bodies(messages))
    assert all("POP_CK" in each.properties for each in consumer.received(50))
