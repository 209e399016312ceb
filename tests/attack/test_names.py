"""Attacks by texts that are no names: lone surrogates, terminal controls, forged log lines."""

from __future__ import annotations

import json
import struct

import pytest

from gantrymq.attack.peer import Answers, Peer
from gantrymq.attack.site import Site
from gantrymq.attack.trial import Trial
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.header import field_kinds
from gantrymq.wire.headers.table import REQUEST_HEADERS

FORGED = "x\nERROR broker forged line"
TEXTS = {
    "half surrogates": "\ud800",
    "terminal controls": "\x1b]0;owned\x07\x1b[2J",
    "a line for the log": FORGED,
    "zeros and BOMs": "\0\ufeff\0",
    "64 KB": "n" * 65_536,
    "numbers of 5 000 digits": "9" * 5_000,
}
# Some of these get no response.
LEFT_OUT = {RequestCode.UNREGISTER_CLIENT, RequestCode.END_TRANSACTION}


def frame(code: int, ext: dict[str, str], body: bytes, opaque: int) -> bytes:
    """A frame in JSON with escapes, which transports lone surrogates unchanged."""
    value = {"code": code, "flag": 0, "opaque": opaque, "extFields": ext}
    head = json.dumps(value, ensure_ascii=True).encode()
    return struct.pack(">ii", 4 + len(head) + len(body), len(head)) + head + body


def fields_of(code: RequestCode, text: str) -> dict[str, str]:
    """Fields of the request in which every text field has this text."""
    header = REQUEST_HEADERS.get(code)
    kinds = {} if header is None else field_kinds(header)
    values = {"s": text, "b": "false"}
    return {name: values.get(kind, "0") for name, kind in kinds.items()}


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_that_are_no_names_break_no_handler(
    attack: Trial, open_site: Site, kind: str
) -> None:
    text = TEXTS[kind]
    body = json.dumps(dict.fromkeys(("topic", "groupName", "consumerGroup"), text)).encode()
    with attack("names", f"{kind} in each text of each request, and in bodies") as attempt:
        answers = Answers()
        for address in (open_site.broker, open_site.names):
            peer: Peer | None = None
            for opaque, code in enumerate(RequestCode, 1):
                if code in LEFT_OUT:
                    continue
                try:
                    peer = peer or Peer(address)
                    peer.send_bytes(frame(code, fields_of(code, text), body, opaque))
                    answers.add(peer.receive(1.0))
                except OSError as error:
                    answers.ended(error)
                    if peer is not None:
                        peer.close()
                    peer = None
            if peer is not None:
                peer.close()
        forged = [line for line in logged(open_site) if line.startswith("ERROR broker forged")]
        assert not forged
        attempt.outcome = str(answers)


def logged(site: Site) -> list[str]:
    found: list[str] = []
    for child in (site.broker_child, site.names_child):
        assert child is not None
        found += (child.folder / "out.log").read_text(errors="replace").splitlines()
    return found
