"""A Java producer's transactions, its requests replayed as they were captured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.fakes.brokers.transactions import COMMIT, ROLLBACK
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.message import offset_id

TRAFFIC = Path(__file__).resolve().parents[3] / "vectors" / "traffic-5.3.3.json"


def captured(code: RequestCode, needle: str) -> dict[str, Any]:
    """The exchange of this code with that in its request. Any: JSON of many shapes."""
    exchanges: list[dict[str, Any]] = json.loads(TRAFFIC.read_text())
    return next(
        each
        for each in exchanges
        if each["request"]["code"] == code and needle in json.dumps(each["request"]["ext"])
    )


@pytest.mark.parametrize(
    ("key", "decision", "delivered"), [("txC", COMMIT, [b"tx commit"]), ("txR", ROLLBACK, [])]
)
def test_a_producers_requests_have_the_effect_they_had(
    key: str, decision: int, delivered: list[bytes]
) -> None:
    broker = OpenedBroker()
    add_topic(broker, "VecTopic")
    broker.settle()
    sent = captured(RequestCode.SEND_MESSAGE_V2, key)
    ext = sent["request"]["ext"]
    answer = broker.ask(
        RequestCode.SEND_MESSAGE_V2, body=sent["request"]["bodyText"].encode(), ext=ext
    )
    theirs = sent["response"]["ext"]
    assert answer.code == ResponseCode.SUCCESS
    assert answer.ext is not None
    assert answer.ext.keys() == theirs.keys()
    for name in ("queueId", "transactionId"):
        assert answer.ext[name] == theirs[name]

    ended = captured(RequestCode.END_TRANSACTION, theirs["transactionId"])["request"]["ext"]
    assert ended["commitOrRollback"] == str(decision)
    _, position = offset_id.decode(answer.ext["msgId"])
    ours = {
        "commitLogOffset": str(position),
        "tranStateTableOffset": answer.ext["queueOffset"],
    }
    broker.send(RequestCode.END_TRANSACTION, ext={**ended, **ours}, is_oneway=True)
    assert broker.bodies("VecTopic", int(theirs["queueId"])) == delivered
    broker.pass_time(60.0)
    assert broker.state.open_halves.first == 1
