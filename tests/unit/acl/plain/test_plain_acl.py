"""Tests how plain_acl.yml is read and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.plain.accounts import Account, Rules
from gantrymq.acl.plain.keys import UNTIL_REMOVED, OldKey
from gantrymq.acl.plain.white_list import AddressPattern
from gantrymq.acl.rights.rights import Right
from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.errors import ConfigurationError
from gantrymq.wire.bodies.shared import DataVersion

SHARED_KEY = "12345678"

# The shape of the file that RocketMQ 4.9 comes with.
SAMPLE = b"""\
# comments are allowed
globalWhiteRemoteAddresses:
- 10.10.103.*
- 192.168.0.{1,2}

accounts:
  - accessKey: RocketMQ
    secretKey: 12345678
    whiteRemoteAddress:
    admin: false
    defaultTopicPerm: DENY
    defaultGroupPerm: SUB
    topicPerms:
      - topicA=DENY
      - topicB=PUB|SUB
    groupPerms:
      # the group should convert to retry topic
      - groupA=DENY
      - groupB=PUB|SUB

  - accessKey: rocketmq2
    secretKey: 12345678
    whiteRemoteAddress: 192.168.1.*
    admin: true
dataVersion:
- counter: 3
  timestamp: 1700000000000
"""

keys = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=7, max_size=9
)
names = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=9)
some_rights = st.dictionaries(names, st.sampled_from(Right), max_size=3)
patterns = st.sampled_from(["", "*", "10.1.*.*", "10.1.2.{3,4}", "::1-5"]).map(AddressPattern.parse)
accounts = st.builds(
    Account,
    access_key=keys,
    secret_key=keys,
    white_remote_address=patterns,
    admin=st.booleans(),
    default_topic_perm=st.sampled_from(Right),
    default_group_perm=st.sampled_from(Right),
    topic_perms=some_rights,
    group_perms=some_rights,
)


def account(**keys: str) -> bytes:
    told = {"accessKey": "RocketMQ", "secretKey": "12345678", **keys}
    return b"accounts:\n-" + "".join(f" {key}: {told[key]}\n " for key in told).encode()


def test_the_sample_is_read() -> None:
    rules = plain_acl.read(SAMPLE)
    assert [each.text for each in rules.global_white] == ["10.10.103.*", "192.168.0.{1,2}"]
    assert rules.version == DataVersion(1700000000000, 3)
    assert rules.warnings == ()
    first, second = rules.accounts.values()
    assert first == Account(
        access_key="RocketMQ",
        secret_key=SHARED_KEY,
        default_group_perm=Right.SUB,
        topic_perms={"topicA": Right.DENY, "topicB": Right.PUB | Right.SUB},
        group_perms={"groupA": Right.DENY, "groupB": Right.PUB | Right.SUB},
    )
    assert second.admin
    assert second.white_remote_address.text == "192.168.1.*"


@given(st.lists(accounts, max_size=3), st.lists(patterns, max_size=3), st.integers(0, 2**62))
def test_written_rules_are_read_back(
    listed: list[Account], white: list[AddressPattern], counter: int
) -> None:
    by_key = {each.access_key: each for each in listed}
    version = DataVersion(1700000000000, counter)
    rules = Rules(global_white=tuple(white), accounts=by_key, version=version)
    assert plain_acl.read(plain_acl.write(rules)) == rules


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            account(secretKey="123456"),
            r"accounts\[0\]: The accessKey=RocketMQ and secretKey cannot",
        ),
        (account(accessKey=""), r"accounts\[0\]"),
        (account(admin="perhaps"), "admin: perhaps must be true or false"),
        (account(whiteRemoteAddress="10.1"), "Netaddress examine Exception netaddress is 10.1"),
        (account(topicPerms="[A]"), "Parse Resource format error for A"),
        (account(groupPerms="[=PUB]"), "Parse Resource format error"),
        (account(topicPerms="A=PUB"), "topicPerms must be a list"),
        (account(topicPerms="[[A=PUB]]"), "topicPerms must be a list of texts"),
        (account(accessKey="[x]"), "accessKey must be a text"),
        (b"globalWhiteRemoteAddresses: 10.1.*.*", "must be a list"),
        (b"globalWhiteRemoteAddresses: [10.1.*]", "Netaddress examine Exception"),
        (b"accounts: [x]", r"accounts\[0\] must be a mapping"),
        (b"- a\n", "the file must be a mapping"),
        (b"dataVersion: [{counter: x}]", "counter: x must be a number"),
    ],
)
def test_error_names_the_value_and_its_place(content: bytes, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        plain_acl.read(content)


def test_errors_contain_no_secret() -> None:
    with pytest.raises(ConfigurationError) as caught:
        plain_acl.read(account(secretKey="short"))
    assert "short" not in str(caught.value)


def test_content_that_java_ignores_is_ignored_with_a_warning() -> None:
    content = account(topicPerm="[A=PUB]", defaultGroupPerm="sub", groupPerms="[G=ANY]")
    rules = plain_acl.read(content + b"\n- accessKey: RocketMQ\n  secretKey: 87654321\n")
    assert rules.accounts["RocketMQ"] == Account(
        access_key="RocketMQ", secret_key=SHARED_KEY, group_perms={"G": Right.DENY}
    )
    assert [line.partition(": ")[2] for line in rules.warnings] == [
        "topicPerm means nothing here; did you mean topicPerms?",
        "sub is no permission, taken for DENY",
        "ANY is no permission, taken for DENY",
        "RocketMQ is there twice, the first counts",
    ]


def test_empty_file_admits_no_client_and_warns() -> None:
    rules = plain_acl.read(b"")
    assert rules == Rules()
    assert "no client is admitted" in rules.warnings[0]


def test_credentials_are_read_as_javas_tools_write_them() -> None:
    content = b"accessKey: rocketmq2\nsecretKey: 12345678\n"
    assert plain_acl.read_credentials(content) == Credentials("rocketmq2", "12345678")
    with pytest.raises(ConfigurationError, match="secretKey"):
        plain_acl.read_credentials(b"accessKey: rocketmq2\n")


def test_old_secret_is_read_and_written() -> None:
    rules = plain_acl.read(b"""\
accounts:
- {accessKey: for-now, secretKey: 12345678, oldSecretKey: 87654321}
- accessKey: for-a-day
  secretKey: 12345678
  oldSecretKey: 87654321
  oldSecretKeyUntil: 2023-11-15T00:00:00Z
""")
    assert rules.accounts["for-now"].old_key == OldKey("87654321", UNTIL_REMOVED)
    assert rules.accounts["for-a-day"].old_key == OldKey("87654321", 1_700_006_400_000)
    assert rules.warnings == ()
    assert plain_acl.read(plain_acl.write(rules)).accounts == rules.accounts


@pytest.mark.parametrize("until", ["tomorrow", "2023-11-15", "2023-11-15T00:00:00"])
def test_invalid_time_is_refused(until: str) -> None:
    content = (
        "accounts: [{accessKey: someuser, secretKey: 12345678, oldSecretKey: 87654321,"
        f" oldSecretKeyUntil: '{until}'}}]"
    )
    with pytest.raises(ConfigurationError, match="oldSecretKeyUntil"):
        plain_acl.read(content.encode())
