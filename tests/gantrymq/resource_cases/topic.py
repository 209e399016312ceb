"""Cases of a Topic."""

from __future__ import annotations

from typing import Final

from gantrymq.resource_cases.case import Case, Cases

KIND: Final = "Topic"

_CASES: Final = Cases(KIND, {"cluster": "orders"})
_good, _bad, _outside = _CASES.good, _CASES.bad, _CASES.outside

_OWN_TOPICS: Final = (
    *("TBW102", "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "RMQ_SYS_TRANS_HALF_TOPIC"),
    *("RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC"),
    *("SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "CHECKPOINT_TOPIC", "rmq_sys_wheel_timer"),
    *("orders", "orders_REPLY_TOPIC", "broker-0"),
)
_TAKEN: Final = "must not be the name of the cluster"

_NAMES: Final = (
    _good("", {}),
    Case("without cluster", KIND, {}, "spec.cluster", "Required value", by_schema=True),
    _good("cluster", "a" * 40),
    _outside("cluster", "a" * 41, "40"),
    _outside("cluster", 1, "string"),
    _bad("cluster", "Orders", "name of a BrokerCluster"),
    _bad("cluster", "", "name of a BrokerCluster"),
    _bad("cluster", "b", "cannot be changed after creation", before={}),
    _good("topicName", "Order_Events-1|%x"),
    _good("topicName", "T" * 127),
    _outside("topicName", "T" * 128, "127"),
    _bad("topicName", "", "must be letters"),
    _bad("topicName", "a.b", "must be letters"),
    _bad("topicName", "a\n", "must be letters"),
    _bad("topicName", "%RETRY%g", "belongs to a consumer group"),
    _bad("topicName", "%DLQ%g", "belongs to a consumer group"),
    *(_bad("topicName", name, "topics of the brokers themselves") for name in _OWN_TOPICS),
    _good("writeQueues", 8, before={"topicName": "A"}),
    _good("topicName", "case", before={}),
    _bad("topicName", "A", "cannot be changed after creation", before={}),
    _bad("topicName", "B", "cannot be changed after creation", before={"topicName": "A"}),
    _bad("topicName", None, "cannot be changed after creation", before={"topicName": "A"}),
    _bad("", {}, _TAKEN, at="spec.topicName", name="orders"),
    _bad("", {}, _TAKEN, at="spec.topicName", name="broker-7"),
    _good("", {}, name="t" * 127),
    _bad("", {}, "give spec.topicName", at="metadata.name", name="t" * 128),
    _bad("", {}, "give spec.topicName", at="metadata.name", name="a.b"),
    _good("topicName", "a-b", name="a.b"),
)

_LESS: Final = "must be at least writeQueues"

_QUEUES: Final = (
    _good("writeQueues", 1),
    _good("writeQueues", 1024),
    _outside("writeQueues", 0, "or equal to 1"),
    _outside("writeQueues", 1025, "or equal to 1024"),
    _outside("writeQueues", "4", "integer"),
    _outside("writeQueues", 4.5, "must be of type int"),
    _good("readQueues", 8),
    _good("readQueues", 8, also={"writeQueues": 8}),
    _bad("readQueues", 7, _LESS, also={"writeQueues": 8}),
    _bad("readQueues", 3, _LESS),
    _outside("readQueues", 0, "or equal to 1"),
    _outside("readQueues", 1025, "or equal to 1024"),
    _good("writeQueues", 2, before={"writeQueues": 8}),
    _good("groups", {"broker-0": {"writeQueues": 0}, "broker-63": {"readQueues": 4}}),
    _good("groups", {"broker-0": {"writeQueues": 0, "readQueues": 0}}),
    _good("groups", {"broker-0": {"writeQueues": 1024}}),
    _bad("groups", {"a": {}}, "named as broker groups are"),
    _bad("groups", {"broker-64": {}}, "named as broker groups are"),
    _bad("groups", {"broker-01": {}}, "named as broker groups are"),
    _bad(
        "groups",
        {"broker-0": {"writeQueues": 2, "readQueues": 1}},
        _LESS,
        at="spec.groups.broker-0.readQueues",
    ),
    _bad("groups", {"broker-0": {"readQueues": 3}}, "at least spec.writeQueues"),
    _outside("groups", {"broker-0": {"writeQueues": -1}}, "0", at=".broker-0.writeQueues"),
    _outside("groups", {"broker-0": {"readQueues": 1025}}, "1024", at=".broker-0.readQueues"),
    _outside("groups", {f"broker-{index}": {} for index in range(65)}, "64"),
    _outside("groups", {"broker-0": 8}, "object", at=".broker-0"),
)

_OTHERS: Final = (
    _good("perm", "R"),
    _good("perm", "W"),
    _good("perm", "RW"),
    _outside("perm", 6, "string"),
    _outside("perm", "rw", 'supported values: "RW", "R", "W"'),
    _good("order", True),
    _outside("order", "yes", "boolean"),
    _good("adopt", True),
    _outside("adopt", 1, "boolean"),
    _good("deletionPolicy", "Delete"),
    _good("deletionPolicy", "DeleteWhenDrained"),
    _outside("deletionPolicy", "delete", 'supported values: "Retain", "Delete"'),
    *(
        _good("attributes", {"message.type": kind})
        for kind in ("UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION")
    ),
    _bad("attributes", {"message.type": "MIXED"}, "message.type must be one of"),
    _good("attributes", {"reserve.time": "24"}),
    _good("attributes", {"reserve.time": "-1"}),
    _bad("attributes", {"reserve.time": "-2"}, "number of hours"),
    _bad("attributes", {"reserve.time": "1d"}, "number of hours"),
    _outside("attributes", {"reserve.time": 24}, "string", at=".reserve.time"),
    _bad("attributes", {"+message.type": "FIFO"}, "without a sign"),
    _bad("attributes", {"cleanup.policy": "COMPACTION"}, "attributes of topics that brokers know"),
    _outside("attributes", {"message.type": "F" * 65}, "64", at=".message.type"),
    _outside("attributes", {f"k{index}": "" for index in range(17)}, "16"),
)

CASES: Final = (*_NAMES, *_QUEUES, *_OTHERS)
