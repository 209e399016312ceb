"""Tests requests that commit, roll back or resume a transaction, and their log lines."""

from dataclasses import replace

from gantrymq.broker.core.transaction.transactions import GIVEN_UP_TOPIC
from gantrymq.fakes.brokers.broker import IDENTITY, OpenedBroker
from gantrymq.fakes.brokers.transactions import (
    COMMIT,
    HOST,
    ROLLBACK,
    TOPIC,
    UNKNOWN,
    Half,
    Transactions,
    asked,
)
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.transaction import ResumeCheckHalfMessageRequest
from gantrymq.wire.message import offset_id
from gantrymq.wire.message.record import Record

OK = ResponseCode.SUCCESS
NO = ResponseCode.SYSTEM_ERROR


def opened() -> Transactions:
    transactions = Transactions(OpenedBroker())
    transactions.broker.settle()
    return transactions


def test_half_message_is_invisible_before_its_commit() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    assert not transactions.delivered()
    assert transactions.code(half, COMMIT) == OK
    assert transactions.delivered() == [b"pay"]
    assert transactions.ops() == [half.number]


def test_a_committed_message_counts_as_sent_to_its_topic() -> None:
    transactions = opened()
    for decision in (COMMIT, ROLLBACK):
        transactions.end(transactions.prepare(b"pay"), decision)
    assert transactions.broker.state.stats.totals.plain_puts == 1


def test_a_committed_message_is_the_one_that_was_sent() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay", TAGS="t", KEYS="k")
    transactions.end(half, COMMIT)
    (final,) = transactions.broker.opened.records(TOPIC, 2)
    assert (final.queue_id, final.flag, final.sys_flag) == (2, 7, COMMIT)
    assert final.prepared_transaction_offset == half.position
    assert b"TAGS\x01t\x02" in final.properties
    assert b"TRAN_MSG\x01true\x02" in final.properties


def test_a_rollback_delivers_nothing() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    assert transactions.code(half, ROLLBACK) == OK
    assert not transactions.delivered()
    assert transactions.ops() == [half.number]


def test_an_unknown_state_is_not_answered_and_changes_nothing() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    assert transactions.end(half, UNKNOWN) is None
    assert not transactions.ops()
    assert transactions.code(half, COMMIT) == OK


def test_first_decision_is_final() -> None:
    transactions = opened()
    for first, second in ((ROLLBACK, COMMIT), (COMMIT, ROLLBACK), (COMMIT, COMMIT)):
        half = transactions.prepare(b"%d-%d" % (first, second))
        assert transactions.code(half, first) == OK
        assert transactions.code(half, second) == NO
    assert transactions.delivered() == [b"8-12", b"8-8"]
    assert transactions.ops() == [0, 1, 2]


def test_first_decision_is_final_after_a_crash() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    transactions.end(half, ROLLBACK)
    transactions = transactions.restarted(keeps_files=False)
    assert transactions.code(half, COMMIT) == NO
    assert not transactions.delivered()


def test_first_of_two_concurrent_decisions_is_carried_out() -> None:
    transactions = Transactions(
        OpenedBroker(
            store_settings=StoreSettings(
                mapped_file_size_commit_log=1 << 20, flush_disk_type=FlushDiskType.SYNC_FLUSH
            )
        )
    )
    half = transactions.prepare(b"pay")
    transactions.broker.disk_is_stuck = True
    requests = [transactions.start(half, decision) for decision in (COMMIT, ROLLBACK)]
    assert all(transactions.broker.is_held(request) for request in requests)
    transactions.broker.disk_is_stuck = False
    transactions.broker.pass_time(1.0)
    codes = [answer.code for each in requests if (answer := transactions.broker.answer(each))]
    assert codes == [OK, NO]
    assert transactions.delivered() == [b"pay"]


def test_a_oneway_decision_is_carried_out() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    request = transactions.start(half, COMMIT, is_oneway=True)
    assert transactions.broker.answer(request) is None
    assert transactions.delivered() == [b"pay"]


def test_decision_that_names_no_half_message_is_refused_with_javas_words() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    held = b"PGROUP\x01payers\x02REAL_TOPIC\x01Payments\x02REAL_QID\x012\x02"
    plain = transactions.store(
        Record(b"Plain", b"x", properties=held, born_host=HOST, store_host=HOST)
    )
    for wrong, remark in (
        (Half(half.number, 1 << 40), "Find prepared transaction message failed"),
        (Half(half.number, half.position + 1), "Find prepared transaction message failed"),
        (plain, "Find prepared transaction message failed"),
        (Half(half.number + 1, half.position), "The transaction state table offset wrong"),
    ):
        answer = transactions.end(wrong, COMMIT)
        assert answer is not None
        assert (answer.code, (answer.remark or "").startswith(remark)) == (NO, True)
    stranger = transactions.end(half, COMMIT, group="others")
    assert stranger is not None
    assert (stranger.remark or "").startswith("The producer group wrong")
    assert not transactions.delivered()
    assert not transactions.ops()


def test_decision_after_the_producers_own_time_is_accepted_only_as_an_answer_to_a_check() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay", CHECK_IMMUNITY_TIME_IN_SECONDS="10")
    transactions.broker.pass_time(10.5)
    assert transactions.code(half, COMMIT) == ResponseCode.ILLEGAL_OPERATION
    assert transactions.code(half, COMMIT, from_check=True) == OK


def test_decision_within_the_producers_own_time_is_accepted() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay", CHECK_IMMUNITY_TIME_IN_SECONDS="10")
    transactions.broker.pass_time(9.5)
    assert transactions.code(half, COMMIT) == OK


def test_a_commit_with_a_delay_waits_for_it() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay", DELAY="1")
    assert transactions.code(half, COMMIT) == OK
    assert not transactions.delivered()
    transactions.broker.pass_time(2.0)
    assert transactions.delivered() == [b"pay"]


def test_slave_refuses_decisions() -> None:
    slave = Transactions(OpenedBroker(identity=replace(IDENTITY, broker_id=1)))
    assert slave.code(Half(0, 0), COMMIT) == ResponseCode.SLAVE_NOT_AVAILABLE


def test_half_message_stays_open_when_a_full_disk_refuses_its_decision() -> None:
    transactions = opened()
    halves = [transactions.prepare(b"%d" % number * 600_000) for number in range(4)]
    total_bytes = transactions.disk.total_bytes
    transactions.disk.total_bytes = 1
    codes = [transactions.code(half, COMMIT) for half in halves]
    assert codes[-1] == ResponseCode.SERVICE_NOT_AVAILABLE
    assert transactions.ops() == [
        half.number for half, code in zip(halves, codes, strict=True) if code == OK
    ]
    transactions.disk.total_bytes = total_bytes
    transactions.broker.pass_time(20.0)
    for half, code in zip(halves, codes, strict=True):
        assert transactions.code(half, COMMIT) == (NO if code == OK else OK)
    assert [body[:1] for body in transactions.delivered()] == [b"0", b"1", b"2", b"3"]


# ---------------------------------------------------------------------- resumed


def resume(transactions: Transactions, message_id: str) -> Command:
    header = ResumeCheckHalfMessageRequest(msg_id=message_id)
    return transactions.broker.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, header)


def test_resumed_half_message_is_checked_again() -> None:
    transactions = opened()
    transactions.prepare(b"pay")
    transactions.broker.pass_time(16 * 30.0)
    (given_up,) = transactions.broker.opened.records(GIVEN_UP_TOPIC, 0)
    producer = transactions.connect()
    message_id = offset_id.encode(given_up.store_host, given_up.physical_offset)
    assert resume(transactions, message_id).code == OK
    transactions.broker.pass_time(60.0)
    assert asked(producer)
    assert transactions.code(asked(producer)[-1], COMMIT, from_check=True) == OK
    assert transactions.delivered() == [b"pay"]


def given_up(transactions: Transactions) -> str:
    """The id of the one message that was given up."""
    transactions.prepare(b"pay")
    transactions.broker.pass_time(16 * 30.0)
    (record,) = transactions.broker.opened.records(GIVEN_UP_TOPIC, 0)
    return offset_id.encode(record.store_host, record.physical_offset)


def test_given_up_half_message_is_resumed_once() -> None:
    transactions = opened()
    message_id = given_up(transactions)
    producer = transactions.connect()
    assert resume(transactions, message_id).code == OK
    again = resume(transactions, message_id)
    assert (again.code, "has been resumed before" in (again.remark or "")) == (NO, True)
    transactions.broker.pass_time(60.0)
    for half in set(asked(producer)):
        transactions.end(half, COMMIT, from_check=True)
    assert transactions.delivered() == [b"pay"]


def test_resume_restarts_the_checks_of_an_open_half_message() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    transactions.broker.pass_time(10 * 30.0)
    assert resume(transactions, offset_id.encode(HOST, half.position)).code == OK
    transactions.broker.pass_time(10 * 30.0)
    assert not transactions.given_up()
    assert transactions.code(half, COMMIT) == OK
    assert transactions.delivered() == [b"pay"]


def test_decided_half_message_is_not_resumed() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    transactions.end(half, ROLLBACK)
    assert resume(transactions, offset_id.encode(HOST, half.position)).code == NO


def test_resume_refuses_a_plain_message() -> None:
    transactions = opened()
    plain = transactions.store(Record(b"Plain", b"x", born_host=HOST, store_host=HOST))
    assert resume(transactions, offset_id.encode(HOST, plain.position)).code == NO
    assert resume(transactions, "nonsense").code == NO
    assert not transactions.halves()


# ------------------------------------------------------------------ what the log says


def noted(transactions: Transactions) -> list[str]:
    """The lines about transactions that a producer ended without a commit."""
    texts = [line.text for line in transactions.broker.lines]
    return [text for text in texts if text.startswith("end transaction committed nothing")]


def test_refused_decision_is_logged_with_its_reason() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    transactions.end(half, COMMIT, group="another")
    transactions.end(replace(half, number=half.number + 1), COMMIT)
    transactions.end(replace(half, position=half.position + 1), ROLLBACK)
    transactions.end(half, COMMIT)
    transactions.end(half, COMMIT)
    wrong_group, wrong_number, not_found, late = noted(transactions)
    assert "group='another'" in wrong_group
    assert "The producer group wrong" in wrong_group
    assert f"offset={half.position}" in wrong_group
    assert "code=1" in wrong_group
    assert "The transaction state table offset wrong" in wrong_number
    assert "there is no half message" in not_found
    assert "it is too late to commit" in late


def test_rollback_and_undecided_state_are_logged() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    transactions.end(half, UNKNOWN)
    transactions.end(half, ROLLBACK, from_check=True)
    undecided, rolled_back = noted(transactions)
    assert "pending status" in undecided
    assert "from_check=True" in rolled_back
    assert "the producer rolled the message back" in rolled_back


def test_log_lines_about_decisions_are_bounded() -> None:
    transactions = opened()
    half = transactions.prepare(b"pay")
    for _ in range(25):
        transactions.end(half, COMMIT, group="another")
        transactions.end(half, UNKNOWN)
    assert len(noted(transactions)) == 20
    transactions.broker.pass_time(11)
    transactions.end(half, COMMIT, group="another")
    assert "skipped_lines=15" in noted(transactions)[-1]


def test_commit_is_not_logged() -> None:
    transactions = opened()
    transactions.end(transactions.prepare(b"pay"), COMMIT)
    assert not noted(transactions)
