"""Tests which member is believed about the origin of a forwarded message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.broker.core.access import forward_proofs
from gantrymq.broker.core.access.forward_proofs import PROOF
from gantrymq.broker.core.context import Identity
from gantrymq.fakes.brokers.broker import IDENTITY
from gantrymq.ha.protocol.proofs import GroupSecret
from gantrymq.store.record.send_fields import BORN_HOST
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

SECRET = GroupSecret(b"sixteen bytes and more")
PEER = "10.0.0.1:40000"


def relayed() -> Command:
    ext = {"a": "PG", BORN_HOST: PEER}
    command = Command(RequestCode.SEND_MESSAGE_V2, ext=ext, body=b"body")
    forward_proofs.add(command, SECRET, IDENTITY)
    return command


def born(command: Command) -> str | None:
    return forward_proofs.born_host(command, SECRET, IDENTITY)


def test_a_member_of_the_group_is_believed() -> None:
    assert born(relayed()) == PEER


def test_other_fields_may_change_on_the_way() -> None:
    command = relayed()
    assert command.ext is not None
    command.ext["Signature"] = "of the relaying member's account"
    assert born(command) == PEER


def test_a_proof_is_of_one_request() -> None:
    others = [relayed() for _ in range(3)]
    others[0].body = b"another"
    others[1].code = RequestCode.SEND_MESSAGE
    assert others[2].ext is not None
    others[2].ext[BORN_HOST] = "10.0.0.2:40000"
    assert [born(each) for each in others] == [None, None, None]


@pytest.mark.parametrize(
    "identity", [replace(IDENTITY, name="broker-b"), replace(IDENTITY, cluster="another")]
)
def test_a_proof_is_of_one_group(identity: Identity) -> None:
    assert forward_proofs.born_host(relayed(), SECRET, identity) is None


@pytest.mark.parametrize("proof", [None, "", "ab", "ab" * 32, "zz" * 32, "ab" * 33])
def test_what_is_no_proof_is_not_believed(proof: str | None) -> None:
    command = relayed()
    assert command.ext is not None
    del command.ext[PROOF]
    if proof is not None:
        command.ext[PROOF] = proof
    assert born(command) is None


def test_without_a_secret_or_an_address_there_is_nothing_to_believe() -> None:
    assert forward_proofs.born_host(relayed(), None, IDENTITY) is None
    assert born(Command(RequestCode.SEND_MESSAGE_V2, body=b"body")) is None
    assert born(Command(RequestCode.SEND_MESSAGE_V2, ext={PROOF: "ab" * 32})) is None


def test_another_secret_proves_nothing() -> None:
    other = GroupSecret(b"another secret of 16 bytes")
    assert forward_proofs.born_host(relayed(), other, IDENTITY) is None
