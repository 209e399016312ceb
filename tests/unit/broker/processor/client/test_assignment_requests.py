"""Which queues are whose, when the broker decides: shares, modes, routes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.broker.core.client import assignments
from gantrymq.broker.core.metadata.group_creation import ensure_group
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import ConsumerData
from gantrymq.wire.bodies.route import QueueData, TopicRouteData
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.jsonvalue import Json, JsonObject, list_of, object_of

QUEUES = [MessageQueue("T", "b", number) for number in range(7)]


def numbers(queues: tuple[MessageQueue, ...]) -> list[int]:
    return [queue.queue_id for queue in queues]


@given(st.integers(0, 20), st.integers(1, 9), st.sampled_from(sorted(assignments.STRATEGIES)))
def test_each_queue_is_one_clients(queues: int, clients: int, name: str) -> None:
    strategy = assignments.STRATEGIES[name]
    all_of_them = [MessageQueue("T", "b", number) for number in range(queues)]
    shares = [strategy(all_of_them, index, clients) for index in range(clients)]
    assert sorted(queue for share in shares for queue in share) == all_of_them
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_the_first_clients_have_one_more() -> None:
    shares = [numbers(assignments.averagely(QUEUES, index, 3)) for index in range(3)]
    assert shares == [[0, 1, 2], [3, 4], [5, 6]]
    circle = [numbers(assignments.by_circle(QUEUES, index, 3)) for index in range(3)]
    assert circle == [[0, 3, 6], [1, 4], [2, 5]]


def test_popping_clients_share_queues_with_the_clients_behind_them() -> None:
    shared = assignments.shared(assignments.averagely, QUEUES, 3, 4, 1)
    assert numbers(shared) == [6, 0, 1]


def test_more_clients_than_queues_have_one_each() -> None:
    shared = assignments.shared(assignments.averagely, QUEUES[:2], 3, 5, 1)
    assert numbers(shared) == [1]


# ---------------------------------------------------------------------- requests


def body(**fields: Json) -> bytes:
    bean: JsonObject = {
        "topic": "T",
        "consumerGroup": "G",
        "clientId": "c1",
        "strategyName": "AVG",
        "messageModel": "CLUSTERING",
    }
    bean.update(fields.items())
    return javajson.dumps_fastjson(bean)


def opened(settings: BrokerSettings | None = None) -> OpenedBroker:
    broker = OpenedBroker(settings)
    add_topic(broker)
    for name in ("c1", "c2"):
        data = ConsumerData(
            group_name="G",
            consume_type="CONSUME_PASSIVELY",
            message_model="CLUSTERING",
            consume_from_where="CONSUME_FROM_LAST_OFFSET",
        )
        client = Client(FakeChannel(), name, 0, 0, 0.0, 0)
        broker.state.clients.add_consumer(data, client)
    return broker


def assigned(answer: Command) -> list[tuple[str, int, str]] | None:
    """Broker, queue and mode of each."""
    bean = object_of(javajson.loads(answer.body), "answer")
    if "messageQueueAssignments" not in bean:
        return None
    found = []
    for entry in list_of(bean["messageQueueAssignments"], "assignments"):
        one = object_of(entry, "assignment")
        queue = MessageQueue.from_json(one["messageQueue"])
        found.append((queue.broker_name, queue.queue_id, str(one["mode"])))
    return sorted(found)


def set_mode(broker: OpenedBroker, **fields: Json) -> Command:
    mode: JsonObject = {"topic": "T", "consumerGroup": "G", "mode": "POP"}
    mode.update(fields.items())
    return broker.ask(RequestCode.SET_MESSAGE_REQUEST_MODE, body=javajson.dumps_fastjson(mode))


def make_group(broker: OpenedBroker) -> None:
    ensure_group(broker.state, "G")


def test_clients_pull_from_their_own_queues() -> None:
    broker = opened()
    first = broker.ask(RequestCode.QUERY_ASSIGNMENT, body=body())
    second = broker.ask(RequestCode.QUERY_ASSIGNMENT, body=body(clientId="c2"))
    assert assigned(first) == [("broker-a", 0, "PULL"), ("broker-a", 1, "PULL")]
    assert assigned(second) == [("broker-a", 2, "PULL"), ("broker-a", 3, "PULL")]


def test_popping_client_is_assigned_all_queues_at_once() -> None:
    broker = opened()
    make_group(broker)
    assert set_mode(broker).code == ResponseCode.SUCCESS
    answer = broker.ask(RequestCode.QUERY_ASSIGNMENT, body=body())
    assert assigned(answer) == [("broker-a", -1, "POP")]


def test_broadcasting_clients_have_all_of_them() -> None:
    answer = opened().ask(RequestCode.QUERY_ASSIGNMENT, body=body(messageModel="BROADCASTING"))
    assert len(assigned(answer) or ()) == 4


@pytest.mark.parametrize("fields", [{"strategyName": "MINE"}, {"topic": "NONE"}])
def test_unknown_topic_or_client_gets_no_assignment(fields: dict[str, Json]) -> None:
    assert assigned(opened().ask(RequestCode.QUERY_ASSIGNMENT, body=body(**fields))) is None


def test_modes_survive_a_restart() -> None:
    broker = opened()
    make_group(broker)
    set_mode(broker, popShareQueueNum=2)
    again = OpenedBroker(files=broker.saved)
    answer = again.ask(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
    assert javajson.loads(answer.body) == {
        "messageRequestModeMap": {
            "T": {"G": {"topic": "T", "consumerGroup": "G", "mode": "POP", "popShareQueueNum": 2}}
        }
    }


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"topic": "%RETRY%G"}, ResponseCode.NO_PERMISSION),
        ({"topic": "NONE"}, ResponseCode.TOPIC_NOT_EXIST),
        ({"consumerGroup": "NONE"}, ResponseCode.SUCCESS),  # as in Java: it may come later
    ],
)
def test_modes_are_kept_for_topics_that_are_there(fields: dict[str, Json], code: int) -> None:
    assert set_mode(opened(), **fields).code == code


# ---------------------------------------------------------------------- several brokers


def test_queues_of_other_brokers_are_shared_out_too() -> None:
    broker = opened(BrokerSettings(namesrv_addr="n:1"))
    request = broker.send(RequestCode.QUERY_ASSIGNMENT, body=body())
    (question,) = broker.asked_name_servers
    assert question.command.ext == {"topic": "T"}
    route = TopicRouteData(
        queues=(
            QueueData("broker-b", 2, 2, 6),
            QueueData("broker-a", 2, 2, 6),
            QueueData("broker-c", 2, 2, 2),
        )
    )
    content = javajson.dumps_fastjson(route.to_json())
    broker.client_answers(question, Command(ResponseCode.SUCCESS, body=content))
    answer = broker.answer(request)
    assert answer is not None
    assert assigned(answer) == [("broker-a", 0, "PULL"), ("broker-a", 1, "PULL")]
    second = broker.ask(RequestCode.QUERY_ASSIGNMENT, body=body(clientId="c2"))
    assert assigned(second) == [("broker-b", 0, "PULL"), ("broker-b", 1, "PULL")]
    broker.pass_time(31)
    broker.send(RequestCode.QUERY_ASSIGNMENT, body=body())
    assert len(broker.asked_name_servers) == 2


def test_unreachable_name_servers_lead_to_no_assignment() -> None:
    broker = opened(BrokerSettings(namesrv_addr="n:1"))
    request = broker.send(RequestCode.QUERY_ASSIGNMENT, body=body())
    broker.client_answers(broker.asked_name_servers[0], None)
    answer = broker.answer(request)
    assert answer is not None
    assert assigned(answer) is None
