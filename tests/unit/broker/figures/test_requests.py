"""Tests RequestFigures: the counts of requests, and the causes of flow control."""

from gantrymq.broker.core.figures.requests import LONG_POLLING, ONEWAY, UNKNOWN_CODE, RequestFigures
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.pops import PoppedBroker
from gantrymq.fakes.brokers.pulls import SUBSCRIBES, SUSPENDS, pull
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.metrics import page_of
from gantrymq.wire.codes import RequestCode, ResponseCode

SEND, PULL = int(RequestCode.SEND_MESSAGE_V2), int(RequestCode.PULL_MESSAGE)
DONE, BUSY = int(ResponseCode.SUCCESS), int(ResponseCode.SYSTEM_BUSY)


def test_each_way_to_answer_has_a_histogram_of_its_own() -> None:
    figures = RequestFigures()
    figures.note(PULL, DONE, 0.002)
    figures.note(PULL, DONE, 15.0, LONG_POLLING)
    figures.note(SEND, DONE, 0.0, ONEWAY, times=3)
    assert {key: each.count for key, each in figures.latencies.items()} == {
        (PULL, DONE, 0): 1,
        (PULL, DONE, LONG_POLLING): 1,
        (SEND, DONE, ONEWAY): 3,
    }
    assert figures.latencies[PULL, DONE, 0].counts[:2] == [0, 1]  # up to 1 ms, up to 3 ms
    assert figures.counts() == {(PULL, DONE): 2, (SEND, DONE): 3}


def test_a_response_code_of_a_client_is_unknown() -> None:
    figures = RequestFigures()
    figures.note(PULL, 4711, 0.0)
    assert list(figures.counts()) == [(PULL, UNKNOWN_CODE)]


def test_flow_control_is_counted_by_the_prefix_of_the_remark() -> None:
    figures = RequestFigures()
    for remark in ("[OVERLOAD]system busy", "[TIMEOUT_CLEAN_QUEUE]broker busy", "[odd] one", None):
        figures.note_refusal(remark)
    assert figures.flow_control == {"overload": 1, "timeout_clean_queue": 1, "other": 2}


def test_a_broker_counts_its_requests_with_the_time_they_waited() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    broker.ask(RequestCode.SEND_MESSAGE_V2, message(), b"x")
    broker.send(RequestCode.SEND_MESSAGE_V2, message(), b"x", is_oneway=True)
    broker.settle()
    broker.ask(RequestCode.SEND_MESSAGE_V2, message("NoSuchTopic", default_topic="None"), b"x")
    page = page_of(broker)
    latency = "rocketmq_rpc_latency_milliseconds_count"
    told = 'request_code="send_message_v2",response_code="success",is_long_polling="false"'
    base = f'{latency}{{protocol_type="remoting",{told}'
    assert page[f'{base},result="success"}}'] == 1
    assert page[f'{base},result="oneway"}}'] == 1
    requests = "gantry_broker_requests_total"
    assert page[f'{requests}{{code="SEND_MESSAGE_V2",outcome="SUCCESS"}}'] == 2
    assert page[f'{requests}{{code="SEND_MESSAGE_V2",outcome="TOPIC_NOT_EXIST"}}'] == 1


def test_memory_of_waiting_requests_is_shown() -> None:
    broker = PoppedBroker()
    held = pull(sys_flag=SUBSCRIBES | SUSPENDS)
    broker.broker.send(RequestCode.PULL_MESSAGE, held)
    broker.pop(poll_time=10_000)
    page = page_of(broker.broker)
    for account in ("held pulls", "waiting pops"):
        assert page[f'gantry_broker_memory_bytes{{account="{account}"}}'] > 0
        assert page[f'gantry_broker_memory_limit_bytes{{account="{account}"}}'] == 48 << 20
    assert page['gantry_broker_memory_bytes{account="request bodies"}'] == 0
