"""Sends to a member that is not master: parked, relayed, and their connections closed."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.broker.core.access.forward_proofs import PROOF
from gantrymq.broker.core.messages import AskBroker, Request
from gantrymq.broker.core.send.send_forwarder import PARKED_BYTES_MAX, PARKED_MAX, STAY_SECONDS
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.brokers.transactions import COMMIT, Transactions
from gantrymq.fakes.groups.members import SECRET, Member, change_places, pair
from gantrymq.ha.protocol.proofs import GroupSecret
from gantrymq.store.record.send_fields import BORN_HOST
from gantrymq.wire import frames, hosts
from gantrymq.wire.codes import LanguageCode, RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.message import batch
from gantrymq.wire.message.batch import BatchPart
from gantrymq.wire.version import V5_3_1

SEND = RequestCode.SEND_MESSAGE_V2
SUCCESS = ResponseCode.SUCCESS


def request_of(channel: FakeChannel, body: bytes) -> Request:
    return Request(Command(SEND, ext=message().encode(), body=body), channel)


def grouped() -> tuple[Member, Member]:
    master, follower = pair()
    add_topic(master)
    return master, follower


def test_send_is_forwarded_to_the_master_and_its_connection_is_closed() -> None:
    master, follower = grouped()
    channel = FakeChannel()
    answer = follower.ask(SEND, message(), b"a", channel=channel)
    assert (answer.code, (answer.ext or {})["queueOffset"]) == (SUCCESS, "0")
    assert channel.close_reason is not None
    assert master.bodies("T") == [b"a"]
    assert follower.said("forwarding sends to the master")


def test_a_relayed_message_is_born_where_its_producer_is() -> None:
    master, follower = grouped()
    channel = FakeChannel()
    follower.send(SEND, message(), b"a", channel=channel)
    parts = batch.encode([BatchPart(b"b", 0, b"UNIQ_KEY\x01U\x02")])
    follower.send(RequestCode.SEND_BATCH_MESSAGE, message(batch=True), parts, channel=channel)
    born = {record.born_host for record in master.opened.records("T", 0)}
    assert born == {hosts.parse(channel.peer)}


def test_where_a_message_was_born_is_not_believed_from_a_client() -> None:
    master, _ = grouped()
    for ext in ({BORN_HOST: "10.0.0.1:1"}, {BORN_HOST: "10.0.0.1:1", PROOF: "ab" * 32}):
        assert master.ask(SEND, message(), b"a", ext=ext).code == SUCCESS
    born = {record.born_host for record in master.opened.records("T", 0)}
    assert born == {hosts.parse(master.channel.peer)}


def test_a_group_without_a_secret_believes_no_relayed_address() -> None:
    master, follower = grouped()
    for member in (master, follower):
        member.state.group_secret = None
    channel = FakeChannel()
    assert follower.ask(SEND, message(), b"a", channel=channel).code == SUCCESS
    (record,) = master.opened.records("T", 0)
    assert record.born_host != hosts.parse(channel.peer)


def test_a_member_that_uses_the_old_one_of_two_secrets_is_believed() -> None:
    master, follower = grouped()
    master.state.group_secret = GroupSecret(b"the new one, 16 bytes", SECRET)
    channel = FakeChannel()
    follower.ask(SEND, message(), b"a", channel=channel)
    (record,) = master.opened.records("T", 0)
    assert record.born_host == hosts.parse(channel.peer)


def test_kernel_does_not_take_forwarded_sends() -> None:
    master, _ = grouped()
    master.ask(SEND, message(), b"first")
    for code in (SEND, RequestCode.SEND_MESSAGE):
        ext = {**message().encode(), BORN_HOST: "10.0.0.1:1"}
        data = frames.encode(Command(code, ext=ext, body=b"x", version=479))
        assert master.broker.feed(FakeChannel(), data, 0, 0.0, 0) == (0, 0)


def test_brokers_of_fixed_roles_know_nothing_of_relays() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    broker.ask(SEND, message(), b"a", ext={BORN_HOST: "10.0.0.1:1"})
    (record,) = broker.opened.records("T", 0)
    assert record.born_host == hosts.parse(broker.channel.peer)


def test_a_relayed_send_is_not_relayed_again() -> None:
    one, two = Member(1), Member(2)
    one.reachable[two.address] = two
    one.master_is(two.address)
    two.master_is(one.address)
    request = one.send(SEND, message(), b"a")
    assert one.answer(request) is None
    assert one.channel.close_reason is not None
    assert not two.asked_brokers


def test_send_waits_until_a_master_is_known() -> None:
    follower, master = Member(1), Member(2)
    follower.reachable[master.address] = master
    request = follower.send(SEND, message(), b"a")
    follower.pass_time(1.9)
    assert follower.is_held(request)
    master.lead()
    add_topic(master)
    follower.master_is(master.address)
    answer = follower.answer(request)
    assert answer is not None
    assert answer.code == SUCCESS
    assert follower.channel.close_reason is not None


def test_connection_is_closed_without_an_answer_when_no_member_becomes_master() -> None:
    follower = Member(1)
    request = follower.send(SEND, message(), b"a")
    follower.pass_time(2.0)
    assert follower.answer(request) is None
    assert follower.channel.close_reason is not None


def test_new_master_carries_out_the_sends_that_it_parked() -> None:
    follower = Member(1)
    add_topic(follower)
    request = follower.send(SEND, message(), b"a")
    follower.lead()
    answer = follower.answer(request)
    assert answer is not None
    assert answer.code == SUCCESS
    assert follower.channel.close_reason is None
    follower.pass_time(5.0)
    assert follower.channel.close_reason is None


def test_a_connection_is_closed_behind_the_last_of_its_sends() -> None:
    follower, master = Member(1), Member(2)
    master.lead()
    add_topic(master)
    requests = [follower.send(SEND, message(), b"%d" % number) for number in range(3)]
    follower.reachable[master.address] = master
    follower.broker.master_is(master.address, follower.now, follower.wall_ms)
    asked = [each for each in follower.broker.take_effects() if isinstance(each, AskBroker)]
    for number, question in enumerate(asked):
        assert follower.channel.close_reason is None
        answer = master.ask(SEND, body=b"%d" % number, ext=dict(question.command.ext or {}))
        follower.broker.broker_answered(question.number, answer, follower.now, follower.wall_ms)
        follower.settle()
    assert not any(follower.is_held(request) for request in requests)
    assert follower.channel.close_reason is not None


def test_connection_is_closed_although_it_keeps_sending() -> None:
    follower = Member(1)
    for _ in range(4):
        assert follower.channel.close_reason is None
        follower.send(SEND, message(), b"a")
        follower.pass_time(0.7)
    assert follower.channel.close_reason is not None


def test_send_to_an_unreachable_master_is_not_answered() -> None:
    follower = Member(1)
    follower.master_is("127.0.0.1:20911")
    request = follower.send(SEND, message(), b"a")
    assert follower.answer(request) is None
    assert follower.channel.close_reason is not None


def test_refusal_of_the_master_is_returned_to_the_client() -> None:
    _, follower = grouped()
    answer = follower.ask(SEND, message("Nowhere"), b"a")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST


def test_number_of_parked_sends_is_bounded() -> None:
    follower = Member(1)
    channels = [FakeChannel() for _ in range(PARKED_MAX + 1)]
    for channel in channels:
        follower.broker.handle(request_of(channel, b"a"), follower.now, follower.wall_ms)
    follower.settle()
    assert len(follower.services.send_forwarder) == PARKED_MAX
    assert [channel.close_reason is None for channel in channels[-2:]] == [True, False]


def test_bytes_of_parked_sends_are_bounded() -> None:
    follower = Member(1)
    body = bytes(PARKED_BYTES_MAX // 4)
    channels = [FakeChannel() for _ in range(5)]
    for channel in channels:
        follower.broker.handle(request_of(channel, body), follower.now, follower.wall_ms)
    follower.settle()
    assert [channel.close_reason is None for channel in channels] == [True] * 4 + [False]
    follower.close(channels[0])
    assert follower.is_held(follower.send(SEND, message(), body, channel=FakeChannel()))


def test_a_connection_that_ends_takes_its_sends_with_it() -> None:
    master, follower = Member(2), Member(1)
    master.lead()
    request = follower.send(SEND, message(), b"a")
    follower.close(follower.channel)
    assert follower.answer(request) is None
    follower.reachable[master.address] = master
    follower.master_is(master.address)
    assert not follower.asked_brokers
    assert len(follower.services.send_forwarder) == 0


def test_oneway_end_of_a_transaction_is_relayed() -> None:
    master, follower = grouped()
    half = Transactions(master).prepare(b"pay")
    theirs = Transactions(follower)
    request = theirs.start(half, COMMIT, is_oneway=True)
    assert follower.answer(request) is None
    assert Transactions(master).delivered() == [b"pay"]


def test_a_signature_is_not_passed_on() -> None:
    _, follower = grouped()
    follower.send(SEND, message(), b"a", ext={"Signature": "s", "AccessKey": "k", "n": "broker-a"})
    (asked,) = follower.asked_brokers
    assert {"Signature", "AccessKey"}.isdisjoint(asked.command.ext or {})
    assert (asked.command.ext or {})["n"] == "broker-a"


def test_a_master_of_before_our_reign_is_forgotten() -> None:
    _, follower = grouped()
    follower.lead(2)
    follower.broker.follow(follower.now, follower.wall_ms)
    request = follower.send(SEND, message(), b"a", channel=FakeChannel())
    assert follower.is_held(request)
    assert not follower.asked_brokers


def test_the_new_master_is_relayed_to_after_a_change() -> None:
    master, follower = grouped()
    follower.copy(master)
    change_places(master, follower)
    assert master.ask(SEND, message(), b"a", channel=FakeChannel()).code == SUCCESS
    assert follower.bodies("T") == [b"a"]


# ------------------------------------------------------------------ one address of the group


def with_one_address() -> tuple[Member, Member]:
    master, follower = grouped()
    follower.state.identity = replace(follower.state.identity, group_address="10.0.0.9:10911")
    return master, follower


def test_sends_of_a_client_that_supports_go_away_are_forwarded_before_it_gets_it() -> None:
    _, follower = with_one_address()
    assert follower.ask(SEND, message(), b"a").code == SUCCESS
    follower.pass_time(STAY_SECONDS)
    assert follower.ask(SEND, message(), b"b").code == ResponseCode.GO_AWAY
    assert follower.ask(SEND, message(), b"b", channel=FakeChannel()).code == SUCCESS
    assert follower.channel.close_reason is None


def test_client_that_does_not_know_go_away_is_closed() -> None:
    _, follower = with_one_address()
    for older in ({"version": V5_3_1}, {"language": LanguageCode.PYTHON}):
        channel = FakeChannel()
        request = follower.send(SEND, message(), b"a", channel=channel, **older)
        answer = follower.answer(request)
        assert answer is not None
        assert answer.code == SUCCESS
        assert channel.close_reason is not None


def test_client_is_not_told_to_go_away_while_there_is_no_master() -> None:
    _, follower = with_one_address()
    follower.master_is("")
    follower.send(SEND, message(), b"a")
    follower.pass_time(STAY_SECONDS)
    request = follower.send(SEND, message(), b"b")
    assert follower.is_held(request)
    follower.pass_time(2.0)
    assert follower.answer(request) is None
    assert follower.channel.close_reason is not None
