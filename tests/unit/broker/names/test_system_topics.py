"""What a broker has from the start."""

from __future__ import annotations

import json
from pathlib import Path

from gantrymq.broker.core.context import Identity
from gantrymq.broker.core.metadata.system_topic_creation import make_missing
from gantrymq.broker.core.names.system_topics import is_guarded, system_topics
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.javajson import loads
from gantrymq.wire.jsonvalue import object_of

TRAFFIC = Path(__file__).parents[3] / "vectors" / "traffic-5.3.3.json"
JAVAS = Identity("broker-v", "VecCluster", 0, "127.0.0.1:20911", "127.0.0.1:20912")
LIKE_JAVA = BrokerSettings(
    auto_create_topic_enable=True, trace_topic_enable=False, timer_wheel_enable=False
)


def exchanged(code: int) -> str:
    traffic = json.loads(TRAFFIC.read_text())
    text = next(each["response"]["bodyText"] for each in traffic if each["request"]["code"] == code)
    assert isinstance(text, str)
    return text


def started(settings: BrokerSettings, identity: Identity = JAVAS) -> OpenedBroker:
    broker = OpenedBroker(settings, identity=identity)
    make_missing(broker.state)
    return broker


def test_they_are_those_of_a_java_broker() -> None:
    table = object_of(object_of(loads(exchanged(21)), "")["topicConfigTable"], "")
    javas = {str(name): TopicConfig.from_json(each) for name, each in table.items()}
    broker = started(LIKE_JAVA)
    made = broker.state.topics.all
    assert made == {name: javas[name] for name in made}
    users = {name for name in javas.keys() - made.keys() if not name.startswith(("%", "Vec"))}
    assert users == {"AutoTopic"}


def test_groups_are_those_of_a_java_broker() -> None:
    table = object_of(object_of(loads(exchanged(201)), "")["subscriptionGroupTable"], "")
    made = started(LIKE_JAVA).state.groups.all
    assert made == {name: GroupConfig.from_json(table[name]) for name in made}
    assert all(str(name).startswith("Vec") for name in table.keys() - made.keys())


def test_the_list_of_guarded_topics_is_a_java_brokers() -> None:
    topics = object_of(loads(exchanged(305)), "")["topicList"]
    assert isinstance(topics, list)
    assert system_topics(started(LIKE_JAVA).state) == sorted(map(str, topics))


def test_by_default_no_topic_can_be_inherited_by_a_message() -> None:
    broker = started(BrokerSettings())
    assert broker.state.topics.find("TBW102") is None
    assert broker.state.topics.find("RMQ_SYS_TRACE_TOPIC") is not None
    assert broker.state.topics.find("rmq_sys_wheel_timer") is not None


def test_what_a_file_says_holds_but_for_inheritance_that_is_off() -> None:
    broker = OpenedBroker(BrokerSettings())
    broker.state.topics.put(TopicConfig("SCHEDULE_TOPIC_XXXX", 20, 20), 1)
    broker.state.topics.put(TopicConfig("TBW102", 8, 8, perm=7), 1)
    make_missing(broker.state)
    assert broker.state.topics.all["SCHEDULE_TOPIC_XXXX"].read_queue_nums == 20
    assert broker.state.topics.all["TBW102"].perm == 6


def test_a_second_start_changes_nothing() -> None:
    broker = started(BrokerSettings())
    versions = broker.state.topics.data_version, broker.state.groups.data_version
    make_missing(broker.state)
    assert (broker.state.topics.data_version, broker.state.groups.data_version) == versions


def test_names_of_the_cluster_and_the_broker_are_guarded() -> None:
    state = started(BrokerSettings(msg_trace_topic_name="traces")).state
    for topic in ("VecCluster", "broker-v", "VecCluster_REPLY_TOPIC", "traces", "rmq_sys_any"):
        assert is_guarded(state, topic)
    assert not is_guarded(state, "T")
