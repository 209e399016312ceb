"""Attacks on users, policies, certificates, quotas and the token for metrics."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from gantrymq.acl.signature.signature import Credentials
from gantrymq.attack import requests
from gantrymq.attack.legitimate import TOPIC
from gantrymq.attack.peer import Address, Answers, Peer, ask_each, say
from gantrymq.attack.report import Row
from gantrymq.attack.site import ADMINISTRATOR, Site
from gantrymq.attack.trial import Trial, trial
from gantrymq.interop.authority import Authority, Identity, client_context
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode

Tried = tuple[int, Mapping[str, str], bytes]

ROOT = Credentials("root", "root-password")
OPERATOR = Credentials("operator", "operator-password")
SENDER = Credentials("sender", "sender-password")
TOKEN = "a-token-of-32-characters-or-more"  # noqa: S105 - of this test alone
LOOK = {"topic": TOPIC, "queueId": "0"}


@pytest.fixture(scope="module")
def users_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Servers with users, certificates that stand for users, and a token for metrics."""
    folder = tmp_path_factory.mktemp("users")
    (folder / "token").write_text(TOKEN)
    settings = {
        "authenticationEnabled": "true",
        "authorizationEnabled": "true",
        "initAuthenticationUser": json.dumps(
            {"username": ROOT.access_key, "password": ROOT.secret_key}
        ),
        "clientCertAccounts": "CN:sender=sender;CN:team-*=*",
        "tls.server.need.client.auth": "optional",
        "tls.server.trustCertPath": str(folder / "authority" / "authority.pem"),
        "metricsTokenFile": str(folder / "token"),
    }
    with Site(folder, is_guarded=True, settings=settings) as site:
        with Peer(site.broker, ROOT) as root:
            for user in (OPERATOR, SENDER):
                body = {"password": user.secret_key, "userType": "Normal"}
                told(root, Code.AUTH_CREATE_USER, {"username": user.access_key}, body)
            grant(root, OPERATOR, "*", "All")
            grant(root, SENDER, f"Topic:{TOPIC}", "Pub")
        yield site


@pytest.fixture
def users_attack(users_site: Site, rows: list[Row]) -> Trial:
    """Begin an attack on the servers with users."""
    return partial(trial, users_site, rows)


def told(peer: Peer, code: int, ext: Mapping[str, str], body: object = None) -> bytes:
    """The broker's response to an administrator."""
    answer = peer.ask(code, ext, b"" if body is None else json.dumps(body).encode())
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    return answer.body


def grant(peer: Peer, user: Credentials, resource: str, *actions: str) -> None:
    subject = f"User:{user.access_key}"
    entry = {"resource": resource, "actions": [*actions], "decision": "Allow"}
    policies = [{"policyType": "Custom", "entries": [entry]}]
    told(
        peer, Code.AUTH_CREATE_ACL, {"subject": subject}, {"subject": subject, "policies": policies}
    )


def users(site: Site) -> dict[str, object]:
    """The users by name, as the broker shows them."""
    with Peer(site.broker, ROOT) as root:
        found = json.loads(told(root, Code.AUTH_LIST_USER, {}))
    return {each["username"]: each for each in found}


def request(code: int, body: object, **ext: str) -> Tried:
    return code, ext, json.dumps(body).encode()


def test_no_policy_makes_a_super_user(users_attack: Trial, users_site: Site) -> None:
    kinds = ("Super", "super", "SUPER", " Super", "Super ", "\u017fuper")
    tried = [
        request(code, {**body, "userType": kind}, username=name)
        for kind in kinds
        for code, name, body in (
            (Code.AUTH_CREATE_USER, "made", {"password": "password-of-made"}),
            (Code.AUTH_UPDATE_USER, "operator", {}),
        )
    ]
    tried += [
        request(Code.AUTH_UPDATE_USER, {"password": "mine-now"}, username="root"),
        request(
            Code.AUTH_UPDATE_USER, {"username": "root", "userType": "Super"}, username="sender"
        ),
        request(Code.AUTH_UPDATE_USER, {"userStatus": "disable"}, username="root"),
        request(Code.AUTH_DELETE_USER, None, username="root"),
        request(Code.AUTH_CREATE_USER, {"password": "mine-now"}, username=ADMINISTRATOR.access_key),
        (
            Code.UPDATE_AND_CREATE_ACL_CONFIG,
            {"accessKey": "operator", "secretKey": "operator-password", "admin": "true"},
            b"",
        ),
        (Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, {"globalWhiteAddrs": "*.*.*.*"}, b""),
        (Code.GET_BROKER_CLUSTER_ACL_CONFIG, {}, b""),
    ]
    tried += [
        (Code.UPDATE_BROKER_CONFIG, {}, line.encode())
        for line in (
            "authenticationEnabled=false", "authorizationEnabled=false", "aclEnable=false",
            "authenticationWhitelist=10,11,310", "clientCertAccounts=CN:*=*",
            "fullSignatureRequired=false", "metricsTokenFile=", "auditFile=/elsewhere",
        )
    ]  # fmt: skip
    before = users(users_site)
    what = "a user with all rights by policy: to be a Super user, in 28 ways"
    with users_attack("users", what) as attempt:
        answers = ask_each(users_site.broker, tried, OPERATOR)
        after = users(users_site)
        supers = {name for name, each in after.items() if "Super" in json.dumps(each)}
        assert supers == {"root"}, f"Super users: {supers}"
        assert after["root"] == before["root"]
        attempt.outcome = f"only root is one ({answers})"


def test_signatures_of_users_without_rights_are_refused(
    users_attack: Trial, users_site: Site
) -> None:
    with Peer(users_site.broker, ROOT) as root:
        for name in ("disabled", "deleted", "rekeyed"):
            told(root, Code.AUTH_CREATE_USER, {"username": name}, {"password": "first-password"})
            grant(root, Credentials(name, ""), "*", "All")
        told(root, Code.AUTH_UPDATE_USER, {"username": "disabled"}, {"userStatus": "disable"})
        told(root, Code.AUTH_UPDATE_USER, {"username": "rekeyed"}, {"password": "second"})
        told(root, Code.AUTH_DELETE_USER, {"username": "deleted"})
    pairs = [(name, "first-password") for name in ("disabled", "deleted", "rekeyed")]
    pairs += [("root", ""), ("root", OPERATOR.secret_key), ("ROOT", ROOT.secret_key)]
    pairs += [("root ", ROOT.secret_key), ("", ""), ("User:root", ROOT.secret_key)]
    with users_attack(
        "users", "users that are disabled, deleted or rekeyed; other spellings"
    ) as it:
        answers = Answers()
        for name, secret in pairs:
            with Peer(users_site.broker, Credentials(name, secret)) as peer:
                answers.add(peer.ask(Code.GET_MAX_OFFSET, LOOK))
        assert not answers.counts["code 0"], str(answers)
        it.outcome = f"refused ({answers})"


def test_certificate_maps_only_to_its_own_account(
    users_attack: Trial, users_site: Site, tmp_path: Path
) -> None:
    """`CN:team-*=*` maps a name to the account that the * stands for, among names signed by the
    authority."""
    foreign = Authority(tmp_path)
    names = ("root", "team-", "team-absent", "sender\u200b", "SENDER", "other-server")
    identities = [foreign.identity(name) for name in ("sender", "root", "team-root")]
    identities += [users_site.signed(name) for name in names]
    message = requests.send(TOPIC)
    what = "certificates of another authority, of other names, and one beside another's name"
    with users_attack("certificates", what) as attempt:
        answers = Answers()
        for identity in identities:
            address = seen_with(users_site.broker, identity)
            answers_of(answers, address, (Code.SEND_MESSAGE_V2, message, b"x"))
        own = seen_with(users_site.broker, users_site.signed("sender"))
        for key in ("root", "operator", ""):
            ext = {"AccessKey": key, "Signature": ""}
            answers_of(answers, own, (Code.SEND_MESSAGE_V2, {**message, **ext}, b"x"))
        answers_of(answers, own, (Code.AUTH_LIST_USER, {}, b""))
        assert not answers.counts["code 0"], str(answers)
        with Peer(own) as peer:
            assert peer.ask(Code.SEND_MESSAGE_V2, message, b"x").code == ResponseCode.SUCCESS
        attempt.outcome = f"refused ({answers})"


def seen_with(address: Address, identity: Identity) -> Address:
    """The same port, for a peer with this certificate."""
    return replace(address, tls=client_context(identity=identity))


def answers_of(answers: Answers, address: Address, tried: Tried) -> None:
    """Send each request on its own connection."""
    try:
        with Peer(address) as peer:
            answers.add(peer.ask(*tried))
    except OSError as error:
        answers.ended(error)


def test_policies_are_kept_in_bounds(users_attack: Trial, users_site: Site) -> None:
    subject = "User:sender"
    entry = {"resource": "Topic:x", "actions": ["Pub"], "decision": "Allow"}
    many = [{**entry, "resource": f"Topic:x-{number}"} for number in range(50_000)]
    odd: tuple[dict[str, object], ...] = (
        {"resource": "Topic:" + "x" * 600}, {"resource": "Topic:a\nb"}, {"resource": "x"},
        {"actions": ["Any"]}, {"actions": []},
        {"decision": "Perhaps"}, {"sourceIps": ["10.0.0.0/99"]},
        {"sourceIps": ["10.0.0.1"] * 5_000}, {"sourceIps": ["9" * 100_000]},
    )  # fmt: skip
    bodies: list[list[dict[str, object]]] = [[{**entry, **each}] for each in odd]
    tried = [
        request(
            Code.AUTH_CREATE_ACL,
            {"subject": subject, "policies": [{"entries": entries}]},
            subject=subject,
        )
        for entries in [many, *bodies]
    ]
    what = "policies of 50 000 entries, with names of 600 and addresses of 100 000 characters"
    with users_attack("users", what) as attempt:
        answers = ask_each(users_site.broker, tried, OPERATOR)
        assert not answers.counts["code 0"], str(answers)
        attempt.outcome = f"refused ({answers})"


def test_simultaneous_changes_leave_a_readable_file(users_attack: Trial, users_site: Site) -> None:
    with users_attack("users", "600 changes of users in one write, then kill and restart") as it:
        answers = Answers()
        with Peer(users_site.broker, OPERATOR) as peer:
            frames = [
                peer.frame(
                    Code.AUTH_CREATE_USER,
                    {"username": f"flood-{number}"},
                    json.dumps({"password": "flood-password"}).encode(),
                )
                for number in range(600)
            ]
            peer.send_bytes(b"".join(frames))
            answers.drain(peer, 600, 5.0)
        made = {name for name in users(users_site) if name.startswith("flood-")}
        assert len(made) == answers.counts["code 0"]
        it.outcome = str(answers)
    users_site.restart()
    assert {name for name in users(users_site) if name.startswith("flood-")} == made


def test_quotas_cannot_be_used_against_other_clients(users_attack: Trial, users_site: Site) -> None:
    names = ("*", "legitimate", "x" * 100_000, "\ud800", "a\nb", "")
    limits = {"requestsPerSecond": "1", "produceBytesPerSecond": "1"}
    tried: list[Tried] = [
        (code, {"kind": kind, "name": name, **limits}, b"")
        for code in (Code.GANTRY_SET_QUOTA, Code.GANTRY_DELETE_QUOTA)
        for kind in ("user", "topic", "group", "address", "x")
        for name in names
    ]
    odd = {"requestsPerSecond": str(-(2**63)), "storageBytes": "9" * 400}
    with users_attack("quotas", "60 changes of quotas without rights, and absurd ones") as attempt:
        senders = ask_each(users_site.broker, tried, SENDER)
        assert not senders.counts["code 0"], str(senders)
        absurd: list[Tried] = [
            (Code.GANTRY_SET_QUOTA, {"kind": "user", "name": name, **odd}, b"") for name in names
        ]
        operators = ask_each(users_site.broker, absurd, OPERATOR)
        assert not operators.counts["code 0"], str(operators)
        attempt.outcome = f"refused ({senders}; absurd ones {operators})"


def test_user_beyond_its_quota_does_not_slow_down_others(
    users_attack: Trial, users_site: Site
) -> None:
    with Peer(users_site.broker, ROOT) as root:
        quota = {"kind": "user", "name": "sender", "requestsPerSecond": "50"}
        told(root, Code.GANTRY_SET_QUOTA, quota)
    what = "20 connections of a user of 50 requests a second write 1 000 messages of 10 KB each"
    with users_attack("quotas", what) as attempt:
        answers = Answers()
        peers = [Peer(users_site.broker, SENDER) for _ in range(20)]
        for peer in peers:
            peer.stream.settimeout(0.2)
            frame = peer.frame(Code.SEND_MESSAGE_V2, requests.send(TOPIC), b"q" * 10_000)
            try:
                peer.send_bytes(frame * 1_000)
            except OSError as error:
                answers.ended(error)
        for peer in peers:
            answers.drain(peer, 20, 0.05)
            peer.close()
        attempt.outcome = str(answers)


def test_metrics_need_the_token(users_attack: Trial, users_site: Site) -> None:
    wrong = (b"", b"Bearer", b"Bearer ", b"Basic " + TOKEN.encode(), b"Bearer \xff\xfe\x80",
             b"Bearer " + TOKEN[:-1].encode(), b"Bearer " + b"x" * 8_000,
             b"Bearer " + TOKEN.encode() + b"\0", TOKEN.encode())  # fmt: skip
    what = "the token for metrics, guessed 90 times, with bytes that are no text"
    with users_attack("metrics port", what) as attempt:
        for value in wrong * 10:
            said = scraped(users_site.broker_pages, b"Authorization: " + value)
            assert b"gantry_" not in said
            assert said.split()[1] in {b"401", b"400"}
        twice = b"Authorization: Bearer x\r\nAuthorization: Bearer " + TOKEN.encode()
        assert b"gantry_" not in scraped(users_site.broker_pages, twice)
        own = b"Authorization: Bearer " + TOKEN.encode()
        assert b"gantry_" in scraped(users_site.broker_pages, own)
        attempt.outcome = "401 or 400"


def scraped(address: Address, header: bytes) -> bytes:
    return say(address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n\r\n")
