"""Proves that a relayed send comes from a member of the group, which may say where it was born.

    gantryBornHost     the client that sent it to the relaying member, `host:port`
    gantryRelayProof   HMAC by the group's secret of the names of cluster and group, the request
                       code, that address and the body; 64 hexadecimal digits

The body is covered so that a proof that was overheard is of no use for another message. A client
that gives itself an address is not believed, and no sender is where the group has no secret: the
message is born where its connection comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.base.errors import RemoteError
from gantrymq.ha.proofs import PROOF_BYTES, GroupSecret, statement
from gantrymq.store.send_fields import BORN_HOST
from gantrymq.wire.command import Command
from gantrymq.wire.java_string import utf8_bytes

if TYPE_CHECKING:
    from gantrymq.broker.core.state import Identity

PROOF: Final = "gantryRelayProof"

_SAID: Final = b"gantry relayed send"


def add(command: Command, secret: GroupSecret | None, identity: Identity) -> None:
    """Have this send, which says where it was born, prove that a member says so."""
    if secret is None:
        return
    assert command.ext is not None, "a relayed send says where it was born"
    command.ext[PROOF] = secret.prove(_statement(command, identity)).hex()


def born_host(command: Command, secret: GroupSecret | None, identity: Identity) -> str | None:
    """Where the send was born, as a member of the group says; None where no member proves it."""
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
