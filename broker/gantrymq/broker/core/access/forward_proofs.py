"""Authenticates forwarded sends: proves that a group member vouches for the client's address.

    gantryBornHost     the client that sent to the forwarding member, `host:port`
    gantryRelayProof   HMAC, keyed by the group's secret, over the names of cluster and group, the
                       request code, that address and the body; 64 hexadecimal digits

The HMAC covers the body, so that an intercepted proof is useless for another message. The field is
ignored when a client sets it, and always where the group has no secret: the born host is then the
address of the connection.
"""

from __future__ import annotations

from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.context import Identity
from gantrymq.ha.protocol.proofs import PROOF_BYTES, GroupSecret, statement
from gantrymq.store.record.send_fields import BORN_HOST
from gantrymq.wire.command import Command
from gantrymq.wire.java_string import utf8_bytes

PROOF: Final = "gantryRelayProof"

_SAID: Final = b"gantry relayed send"


def add(command: Command, secret: GroupSecret | None, identity: Identity) -> None:
    """Add the proof to a send that carries BORN_HOST; without a secret, do nothing."""
    if secret is None:
        return
    assert command.ext is not None, "a forwarded send carries its born host"
    command.ext[PROOF] = secret.prove(_statement(command, identity)).hex()


def born_host(command: Command, secret: GroupSecret | None, identity: Identity) -> str | None:
    """The client address that a member vouches for; None without a valid proof."""
    ext = command.ext or {}
    said, proof = ext.get(BORN_HOST), ext.get(PROOF, "")
    if said is None or secret is None or len(proof) != 2 * PROOF_BYTES:
        return None
    try:
        secret.must_have_made(bytes.fromhex(proof), _statement(command, identity), said)
    except (RemoteError, ValueError):
        return None
    return said


def _statement(command: Command, identity: Identity) -> bytes:
    ext = command.ext or {}
    names = f"{identity.cluster}/{identity.name}"
    code = int(command.code).to_bytes(4, "big", signed=True)
    return statement(_SAID, utf8_bytes(names), code, utf8_bytes(ext[BORN_HOST]), command.body)
