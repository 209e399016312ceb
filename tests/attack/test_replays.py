"""Attacks with captured requests, and with an account's own signatures.

The signatures are made here from their description alone, without the product's code.
"""

from __future__ import annotations

import base64
import hmac
import json
import struct
import time
from collections.abc import Mapping
from itertools import count

from gantrymq.acl.signature.signature import Credentials
from gantrymq.attack.legitimate import TOPIC
from gantrymq.attack.peer import Answers, Peer, ask_each
from gantrymq.attack.site import ADMINISTRATOR, USER, Site
from gantrymq.attack.trial import Trial
from gantrymq.wire.codes import RequestCode as Code

MARK = "gantry-full-signature-1"
ELSEWHERE = "127.0.0.2"  # the legitimate clients are at 127.0.0.1
QUARTER_MS = 15 * 60_000
LOOK = {"topic": TOPIC, "queueId": "0"}


def signed(
    code: int,
    ext: Mapping[str, str],
    by: Credentials,
    *,
    signer: str = "0123456789abcdef",
    number: int = 1,
    late_ms: int = 0,
) -> dict[str, str]:
    """The fields with both signatures, as Gantry's clients make them."""
    head = f"{MARK}:{time.time_ns() // 1_000_000 - late_ms}:{signer}:{number}"
    fields = {**ext, "AccessKey": by.access_key}
    parts = [head, str(code)]
    parts += [part for name in sorted(fields) for part in (name, fields[name])]
    content = b"".join(len(part).to_bytes(8, "big") + part.encode() for part in [*parts, ""])
    fields["GantrySignature"] = f"{head}:{digest(by, content, 'sha256')}"
    return with_old_signature(fields, by)


def with_old_signature(fields: Mapping[str, str], by: Credentials) -> dict[str, str]:
    """RocketMQ's signature, over the concatenated values."""
    values = "".join(fields[name] for name in sorted(fields))
    return {**fields, "Signature": digest(by, values.encode(), "sha1")}


def digest(by: Credentials, content: bytes, name: str) -> str:
    return base64.b64encode(hmac.digest(by.secret_key.encode(), content, name)).decode()


def test_captured_request_is_accepted_once(guarded_attack: Trial, guarded_site: Site) -> None:
    what = "a request of Gantry's client, captured and sent 50 times from another address"
    with guarded_attack("replay", what) as attempt:
        ext = signed(Code.GET_MAX_OFFSET, LOOK, USER)
        first = ask_each(guarded_site.broker, [(Code.GET_MAX_OFFSET, ext, b"")])
        assert first.counts["code 0"] == 1
        address = guarded_site.broker.seen_from(ELSEWHERE)
        again = ask_each(address, [(Code.GET_MAX_OFFSET, ext, b"")] * 50)
        assert not again.counts["code 0"], f"sent again: {again}"
        attempt.outcome = f"refused ({again})"


def test_captured_request_is_valid_only_for_its_code(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    guarded_site.create_topic("captured-whole", 1)
    what = "a look of Gantry's client at a topic, captured and sent as its deletion, in 6 forms"
    with guarded_attack("replay", what) as attempt:
        ext = signed(Code.GET_TOPIC_STATS_INFO, {"topic": "captured-whole"}, ADMINISTRATOR)
        full = ext["GantrySignature"]
        without = {name: value for name, value in ext.items() if name != "GantrySignature"}
        forms = (
            ext,
            without,
            {**without, "GantrySignaturf": full},
            {**without, "GantrySignaturf": full[:9], "GantrySignaturg": full[9:]},
            {**ext, "GantrySignature": ""},
            {**ext, "gantrysignature": full, "GantrySignature": full[:-4]},
        )
        tried = [(Code.DELETE_TOPIC_IN_BROKER, form, b"") for form in forms]
        answers = ask_each(guarded_site.broker.seen_from(ELSEWHERE), tried)
        assert not answers.counts["code 0"], f"deleted: {answers}"
        attempt.outcome = f"refused ({answers})"


def test_request_signed_at_another_time_is_refused(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    what = "requests of Gantry's client that were signed an hour ago, and an hour ahead"
    with guarded_attack("replay", what) as attempt:
        tried = [
            (
                Code.GET_MAX_OFFSET,
                signed(Code.GET_MAX_OFFSET, LOOK, USER, number=number, late_ms=late_ms),
                b"",
            )
            for number, late_ms in enumerate((4 * QUARTER_MS, -4 * QUARTER_MS, 10**15), 100)
        ]
        answers = ask_each(guarded_site.broker, tried)
        assert not answers.counts["code 0"], str(answers)
        attempt.outcome = f"refused ({answers})"


def test_many_signers_of_one_account_do_not_lock_out_others(
    guarded_attack: Trial, guarded_site: Site
) -> None:
    what = "20 000 programs invented by one account, signed ahead of time; then another's program"
    with guarded_attack("lock-out", what) as attempt:
        answers = Answers()
        with Peer(guarded_site.broker) as peer:
            for first in range(0, 20_000, 500):
                frames = [
                    peer.frame(Code.GET_MAX_OFFSET, of_program(number))
                    for number in range(first, first + 500)
                ]
                peer.send_bytes(b"".join(frames))
                answers.drain(peer, 500, 5.0)
        ext = signed(Code.GET_MAX_OFFSET, LOOK, ADMINISTRATOR, signer="f" * 16, number=1)
        newcomer = ask_each(guarded_site.broker, [(Code.GET_MAX_OFFSET, ext, b"")])
        assert newcomer.counts["code 0"] == 1, f"another account is refused: {newcomer}"
        attempt.outcome = f"the other program is served ({answers})"


def of_program(number: int) -> dict[str, str]:
    ahead_ms = QUARTER_MS - 60_000
    return signed(Code.GET_MAX_OFFSET, LOOK, USER, signer=f"{number:016x}", late_ms=-ahead_ms)


def test_two_names_in_one_request_give_no_access(guarded_attack: Trial, guarded_site: Site) -> None:
    what = "two AccessKeys or Signatures in one JSON header, in both orders, for six codes"
    codes = (
        Code.UPDATE_BROKER_CONFIG,
        Code.DELETE_TOPIC_IN_BROKER,
        Code.AUTH_CREATE_USER,
        Code.GET_BROKER_CLUSTER_ACL_CONFIG,
        Code.UPDATE_AND_CREATE_ACL_CONFIG,
        Code.PULL_MESSAGE,
    )
    own = with_old_signature({"topic": "captured", "AccessKey": USER.access_key}, USER)
    keys = (USER.access_key, ADMINISTRATOR.access_key)
    opaques = count(1)
    with guarded_attack("access", what) as attempt:
        answers = Answers()
        with Peer(guarded_site.broker) as peer:
            for code in codes:
                for one, other in (keys, keys[::-1]):
                    for signature in (own["Signature"], ""):
                        pairs = [
                            ("topic", "captured"),
                            ("AccessKey", one),
                            ("AccessKey", other),
                            ("Signature", own["Signature"]),
                            ("Signature", signature),
                        ]
                        peer.send_bytes(raw_request(code, pairs, next(opaques)))
                        answers.drain(peer, 1, 2.0)
        assert not answers.counts["code 0"], str(answers)
        attempt.outcome = f"refused ({answers})"


def raw_request(code: int, pairs: list[tuple[str, str]], opaque: int) -> bytes:
    """A frame whose JSON contains names twice."""
    ext = ",".join(f"{json.dumps(name)}:{json.dumps(value)}" for name, value in pairs)
    head = f'{{"code":{code},"flag":0,"opaque":{opaque},"extFields":{{{ext}}}}}'.encode()
    return struct.pack(">ii", 4 + len(head), len(head)) + head
