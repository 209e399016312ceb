"""Defines scenarios of messages that come later or never: delays, timers, transactions."""

from typing import Final

from gantrymq.interop.clients.scenarios.scenario import Rows, bodies
from gantrymq.interop.clients.stage import Message, Stage, now_ms

CHECKS: Final = 15
UNASKED: Final = {"CHECK_IMMUNITY_TIME_IN_SECONDS": "300"}
GIVEN_UP: Final = "TRANS_CHECK_MAX_TIME_TOPIC"  # a broker creates it at first use

ROWS: Final = Rows()


@ROWS.add("delay levels")
def delay_levels(stage: Stage) -> None:
    """Level 2 is two seconds in these tests, and level 3 three seconds."""
    topic = stage.topic()
    consumer = stage.consumer(topic)
    began_ms = now_ms()
    stage.producer().send([Message(topic, str(level), level=level) for level in (2, 3)])
    consumer.gets_exactly(["2", "3"])
    for found in consumer.received(2):
        assert found.at_ms - began_ms >= 1000 * int(found.body)
        assert found.topic == topic


@ROWS.add("timer messages", "properties")
def timer_messages(stage: Stage) -> None:
    """Timers have the precision of timerPrecisionMs, a second."""
    topic = stage.topic()
    consumer = stage.consumer(topic)
    due_ms = now_ms() + 4000
    message = Message(topic, "later", properties={"TIMER_DELIVER_MS": str(due_ms)})
    stage.producer().send([message])
    consumer.gets_exactly(["later"])
    (found,) = consumer.received(1)
    assert found.at_ms >= due_ms - 1000
    assert found.topic == topic


@ROWS.add("transactions: commit and roll back", "transactions", "properties")
def commit_and_roll_back(stage: Stage) -> None:
    """The broker checks no transaction here: a decision that crosses a check is carried out
    twice."""
    topic = stage.topic()
    consumer, producer = stage.consumer(topic), stage.producer()
    for decision in ("ROLLBACK_MESSAGE", "COMMIT_MESSAGE"):
        message = Message(topic, decision, key=stage.name("key"), properties=UNASKED)
        assert producer.transact(message, decision).status == "SEND_OK"
    consumer.gets_exactly(["COMMIT_MESSAGE"])


@ROWS.add("transactions: decided when the broker asks", "transactions")
def decide_when_asked(stage: Stage) -> None:
    topic = stage.topic()
    consumer, producer = stage.consumer(topic), stage.producer()
    late = Message(topic, "late", key=stage.name("key"))
    later = Message(topic, "later", key=stage.name("key"))
    undone = Message(topic, "undone", key=stage.name("key"))
    producer.transact(undone, "UNKNOW", "ROLLBACK_MESSAGE")
    producer.transact(late, "UNKNOW", "COMMIT_MESSAGE")
    producer.transact(later, "UNKNOW", "UNKNOW", "COMMIT_MESSAGE")
    consumer.gets_exactly(["late", "later"])
    # At least this often, because a client that answers late, on a busy machine, is asked again.
    for message, least in ((undone, 1), (late, 1), (later, 2)):
        assert producer.checks(message) >= least, message.body


@ROWS.add("transactions: given up after 15 checks", "transactions", "pull")
def give_up_after_checks(stage: Stage) -> None:
    topic = stage.topic()
    producer = stage.producer()
    message = Message(topic, stage.name("open"), key=stage.name("key"))
    producer.transact(message, "UNKNOW")

    def is_given_up() -> bool:
        return stage.broker.is_routed(GIVEN_UP) and message.body in bodies(stage.pulled(GIVEN_UP))

    stage.wait_until(lambda: producer.checks(message) >= CHECKS, f"{CHECKS} checks")
    stage.wait_until(is_given_up, "the message is where given up ones go")
    assert producer.checks(message) == CHECKS
    assert stage.pulled(topic) == []
