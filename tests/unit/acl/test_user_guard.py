"""Tests users at the guard: authentication and authorization of RocketMQ 5, beside accounts."""

from __future__ import annotations

import pytest

from gantrymq.acl.guard import Guard
from gantrymq.acl.plain import plain_acl
from gantrymq.acl.plain.accounts import Rules
from gantrymq.acl.requests.needs import ACCOUNT_REQUESTS, BROKER_REQUESTS
from gantrymq.acl.rights.caller import Caller
from gantrymq.acl.signature.certificates import parse_rules
from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.acl.users.table import UserTable
from gantrymq.acl.users.user_rules import UserRules, codes_of
from gantrymq.base.errors import ConfigurationError
from gantrymq.wire.bodies.auth import PolicyEntryInfo, PolicyInfo, UserInfo
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command

PEER = "10.1.1.1:40000"
NOW_MS = 1_700_000_000_000
SECRET = "12345678"  # noqa: S105 - of tests
BOTH_ON = UserRules(authenticates=True, authorizes=True, cluster="C")
ACCOUNTS = plain_acl.read(b"""\
globalWhiteRemoteAddresses: [10.9.9.*]
accounts:
- {accessKey: plain-admin, secretKey: 12345678, admin: true}
- {accessKey: plain-sender, secretKey: 12345678, defaultTopicPerm: PUB|SUB, defaultGroupPerm: SUB}
""")


def user(name: str, **more: str) -> UserInfo:
    return UserInfo(username=name, password=SECRET, user_type=more.get("type"))


def allowed(resource: str, *actions: str) -> PolicyInfo:
    entry = PolicyEntryInfo(resource=resource, actions=actions, decision="Allow")
    return PolicyInfo(entries=(entry,))


USERS = (
    UserTable()
    .created(user("root", type="Super"))
    .created(user("sender"))
    .created(user("operator"))
    .created(user("off"))
    .updated(UserInfo(username="off", user_status="disable"), NOW_MS)
    .with_policies("sender", [allowed("Topic:T", "Pub")])
    .with_policies("operator", [allowed("*", "All")])
)


def guard_of(rules: UserRules = BOTH_ON, accounts: Rules | None = None) -> Guard:
    guard = Guard(accounts or Rules(), BROKER_REQUESTS, rules, has_accounts=accounts is not None)
    guard.replace_users(USERS)
    return guard


def asked(
    guard: Guard,
    code: int,
    ext: dict[str, str] | None = None,
    *,
    key: str | None = None,
    secret: str = SECRET,
    caller: Caller | None = None,
) -> str | None:
    command = Command(code, ext=ext)
    if key is not None:
        command = signed(command, Credentials(key, secret))
    refused = guard.check(command, caller or Caller(PEER, NOW_MS))
    if refused is None:
        return None
    if key is None or not key.startswith("plain"):
        assert refused.code is ResponseCode.NO_PERMISSION
    return refused.remark


@pytest.mark.parametrize(
    ("key", "secret", "words"),
    [
        (None, "", "username cannot be null."),
        ("absent", SECRET, "User:absent is not found."),
        ("off", SECRET, "User:off is disabled."),
        ("sender", "87654321", "check signature failed."),
    ],
)
def test_refusal_begins_with_javas_text(key: str | None, secret: str, words: str) -> None:
    remark = asked(guard_of(), Code.SEND_MESSAGE, {"topic": "T"}, key=key, secret=secret)
    assert (remark or "").startswith(words)


def test_user_may_do_what_its_policies_allow() -> None:
    assert asked(guard_of(), Code.SEND_MESSAGE, {"topic": "T"}, key="sender") is None


def test_user_may_do_nothing_else() -> None:
    remark = asked(guard_of(), Code.SEND_MESSAGE, {"topic": "U"}, key="sender")
    assert (remark or "").startswith(
        "User:sender has no permission to access Topic:U from 10.1.1.1, no matched policies."
    )


def test_request_without_a_row_needs_a_super_user() -> None:
    for code in set(Code) - BROKER_REQUESTS.keys():
        assert asked(guard_of(), code, {"topic": "T"}, key="operator") is not None
        assert asked(guard_of(), code, {"topic": "T"}, key="root") is None


def test_request_that_names_nothing_is_refused_unless_its_row_says_otherwise() -> None:
    for code, row in BROKER_REQUESTS.items():
        if not row.may_name_nothing and not _is_of_server(code):
            assert asked(guard_of(), code, {}, key="operator") is not None, Code(code).name


def _is_of_server(code: int) -> bool:
    try:
        return bool(BROKER_REQUESTS[code].needs_of(Command(code)))
    except Exception:
        return False


@pytest.mark.parametrize("code", sorted(Code))
def test_user_without_policies_is_refused_where_rights_are_needed(code: int) -> None:
    """A request that is admitted is checked by its message, or names no resource."""
    guard = guard_of()
    guard.replace_users(UserTable().created(user("bare")))
    is_open = asked(guard, code, {}, key="bare") is None
    assert not is_open or BROKER_REQUESTS[code].may_name_nothing


@pytest.mark.parametrize("code", sorted(ACCOUNT_REQUESTS))
def test_accounts_are_changed_by_administrators_alone(code: int) -> None:
    """With every combination of settings, and from every address."""
    for rules in (BOTH_ON, UserRules(authenticates=True)):
        guard = guard_of(rules, ACCOUNTS)
        near = Caller("10.9.9.9:1", NOW_MS)
        assert asked(guard, code, {}, key="plain-sender") is not None or code == 52
        assert asked(guard, code, {}, key="sender") is not None
        assert asked(guard, code, {}, caller=near) is not None
        assert asked(guard, code, {}, key="root") is None
        assert asked(guard, code, {}, key="plain-admin") is None


def test_no_policy_lets_a_user_change_plain_accounts() -> None:
    remark = asked(guard_of(), Code.UPDATE_AND_CREATE_ACL_CONFIG, {}, key="operator")
    assert "a Super user is needed" in (remark or "")


def test_without_authorization_users_do_everything_but_change_accounts() -> None:
    guard = guard_of(UserRules(authenticates=True))
    assert asked(guard, Code.DELETE_TOPIC_IN_BROKER, {"topic": "T"}, key="sender") is None
    assert asked(guard, Code.AUTH_CREATE_USER, {"username": "x"}, key="sender") is not None


def test_name_of_account_and_user_means_the_account() -> None:
    accounts = plain_acl.read(b"accounts:\n- {accessKey: operator, secretKey: 87654321}\n")
    guard = guard_of(BOTH_ON, accounts)
    command = signed(Command(Code.GET_BROKER_CONFIG), Credentials("operator", SECRET))
    assert guard.check(command, Caller(PEER, NOW_MS)) is not None


def test_whitelisted_request_needs_no_signature() -> None:
    open_codes = frozenset({int(Code.GET_BROKER_RUNTIME_INFO)})
    rules = UserRules(
        authenticates=True,
        authorizes=True,
        needs_no_signature=open_codes,
        needs_no_policy=open_codes,
    )
    assert asked(guard_of(rules), Code.GET_BROKER_RUNTIME_INFO) is None
    assert asked(guard_of(rules), Code.GET_BROKER_CONFIG) is not None


def test_unsigned_request_belongs_to_no_user() -> None:
    """Java takes the access key of a request in authenticationWhitelist as proven."""
    rules = UserRules(
        authenticates=True, authorizes=True, needs_no_signature=frozenset({int(Code.SEND_MESSAGE)})
    )
    ext = {"topic": "T", "AccessKey": "sender"}
    assert asked(guard_of(rules), Code.SEND_MESSAGE, ext) is not None
    assert asked(guard_of(rules), Code.SEND_MESSAGE, {"topic": "T"}) is not None


@pytest.mark.parametrize("text", ["3001", "10, 54", "x", "99999"])
def test_requests_that_change_accounts_cannot_be_whitelisted(text: str) -> None:
    with pytest.raises(ConfigurationError, match="authenticationWhitelist"):
        codes_of("authenticationWhitelist", text)


def test_both_passwords_are_valid_during_a_change() -> None:
    update = UserInfo(username="sender", password="new-one", old_password_seconds=60)
    guard = guard_of()
    guard.replace_users(USERS.updated(update, NOW_MS))

    def sent(secret: str, after_ms: int) -> str | None:
        caller = Caller(PEER, NOW_MS + after_ms)
        ext = {"topic": "T"}
        return asked(guard, Code.SEND_MESSAGE, ext, key="sender", secret=secret, caller=caller)

    assert sent(SECRET, 59_000) is None
    assert sent("new-one", 0) is None
    assert sent(SECRET, 60_000) is not None
    assert sent("another", 0) is not None


def test_certificate_stands_for_its_account() -> None:
    rules = UserRules(
        authenticates=True, authorizes=True, certificate_rules=parse_rules("CN:orders=sender")
    )
    guard = guard_of(rules)
    known = Caller(PEER, NOW_MS, ("CN:orders",))
    other = Caller(PEER, NOW_MS, ("CN:billing",))
    assert asked(guard, Code.SEND_MESSAGE, {"topic": "T"}, caller=known) is None
    assert asked(guard, Code.SEND_MESSAGE, {"topic": "U"}, caller=known) is not None
    assert asked(guard, Code.SEND_MESSAGE, {"topic": "T"}, caller=other) is not None


def test_wrong_signature_is_refused_despite_a_certificate() -> None:
    rules = UserRules(authenticates=True, certificate_rules=parse_rules("CN:orders=sender"))
    known = Caller(PEER, NOW_MS, ("CN:orders",))
    remark = asked(guard_of(rules), Code.SEND_MESSAGE, {}, key="root", secret="wrong", caller=known)
    assert remark is not None


WHITE_ACCOUNT = plain_acl.read(b"""\
accounts:
- {accessKey: plain-white, secretKey: 12345678, whiteRemoteAddress: 10.1.1.*}
- {accessKey: plain-chief, secretKey: 12345678, admin: true, whiteRemoteAddress: 10.1.1.*}
""")


@pytest.mark.parametrize("code", sorted(ACCOUNT_REQUESTS))
@pytest.mark.parametrize("name", ["plain-white", "plain-chief"])
def test_address_of_an_account_does_not_permit_changes_of_users(name: str, code: int) -> None:
    guard = guard_of(accounts=WHITE_ACCOUNT)
    unsigned = Command(code, ext={"AccessKey": name, "username": "mine", "subject": "User:mine"})

    assert guard.check(unsigned, Caller(PEER, NOW_MS)) is not None


def test_address_of_an_account_permits_other_requests() -> None:
    guard = guard_of(accounts=WHITE_ACCOUNT)
    unsigned = Command(Code.GET_MAX_OFFSET, ext={"AccessKey": "plain-white", "topic": "T"})

    assert guard.check(unsigned, Caller(PEER, NOW_MS)) is None
