"""What is asked about replication by others than the tables' owners."""

from __future__ import annotations

from gantrymq.fakes.broker import OpenedBroker
from gantrymq.wire import javajson
from gantrymq.wire.bodies.ha_status import HaStatus
from gantrymq.wire.codes import RequestCode, ResponseCode


def test_a_master_without_slaves_says_so() -> None:
    broker = OpenedBroker()
    answer = broker.ask(RequestCode.GET_BROKER_HA_STATUS)
    status = HaStatus.from_json(javajson.loads(answer.body))
    assert status == HaStatus(is_master=True, log_end=broker.state.store.log.end)


def test_there_are_no_epochs_of_a_controller() -> None:
    answer = OpenedBroker().ask(RequestCode.GET_BROKER_EPOCH_CACHE)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").startswith("this request only for controllerMode")


def test_every_group_pulls() -> None:
    answer = OpenedBroker().ask(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
    assert answer.body == b'{"messageRequestModeMap":{}}'


def test_a_masters_flush_offset_is_nobodys_to_set() -> None:
    answer = OpenedBroker().ask(
        RequestCode.RESET_MASTER_FLUSH_OFFSET, ext={"masterFlushOffset": "0"}
    )
    assert answer.code == ResponseCode.SUCCESS
