"""Tests that mqadmin prints the same about users and policies of Gantry's broker and of Java's.

gantry prints what mqadmin prints. Both tools run the same commands in the same order, about users
of their own. Gantry differs on purpose:

* No response of Gantry's broker contains a password, and gantry prints none of Java's either.
* After Java's text a remark of Gantry's says what helps.
* Where Java's remark is the text of an exception and its stack, only the code is compared.
* gantry says that a user does not exist, where mqadmin prints nothing: see SAID_BY_GANTRY.
"""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from gantrymq.app.entry import dispatch
from gantrymq.interop.admin.user_settings import ROOT, USERS
from gantrymq.interop.broker_kinds import BrokerKind, running
from gantrymq.interop.clients.drivers import MqAdmin
from gantrymq.interop.releases import REFERENCE
from gantrymq.interop.servers import Broker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

USER_COMMANDS = (
    "createUser -b {broker} -u {user} -p first-secret",
    "createUser -b {broker} -u {user} -p first-secret",
    "createUser -b {broker} -u {user}-2 -p second-secret -t Super",
    "createUser -c interop -u {user}-3 -p third-secret -t Normal",
    "createUser -b {broker} -u {user}-4 -p fourth-secret -t nonsense",
    "getUser -b {broker} -u {user}",
    "getUser -c interop -u {user}-2",
    "listUser -b {broker} -f {user}",
    "listUser -c interop -f {user}",
    "listUser -b {broker} -f nothing",
    "updateUser -b {broker} -u {user} -p other-secret",
    "updateUser -b {broker} -u {user} -t Super",
    "updateUser -b {broker} -u {user} -s disable",
    "getUser -b {broker} -u {user}",
    "updateUser -b {broker} -u {user} -s nonsense",
    "updateUser -b {broker} -u {user} -t nonsense",
    "updateUser -c interop -u {user} -s enable",
    "updateUser -b {broker} -u {user}-9 -p some-secret",
    "copyUser -f {broker} -t {broker} -u {user},{user}-3",
    "copyUser -f {broker} -t {broker} -u {user}-9",
    "listUser -b {broker} -f {user}",
    "deleteUser -b {broker} -u {user}-2",
    "deleteUser -b {broker} -u {user}-2",
    "deleteUser -c interop -u {user}-3",
    "listUser -b {broker} -f {user}",
    "deleteUser -b {broker} -u {user}",
    "deleteUser -b {broker} -u {user}-4",
    "getUser -b {broker} -u {user}",
)
ACL_COMMANDS = (
    "createUser -b {broker} -u {user} -p first-secret",
    "getAcl -b {broker} -s User:{user}",
    "listAcl -b {broker} -s {user}",
    "createAcl -b {broker} -s User:{user} -r Topic:A,Group:g* -a Pub,Sub -d Allow",
    "createAcl -b {broker} -s User:{user} -r Cluster:* -a get,LIST -d allow -i 10.0.0.0/8,::1",
    "createAcl -c interop -s User:{user} -r * -a All -d Deny",
    "createAcl -b {broker} -s User:{user}-9 -r Topic:A -a Pub -d Allow",
    "createAcl -b {broker} -s User:{user} -r Queue:A -a Pub -d Allow",
    "createAcl -b {broker} -s User:{user} -r Topic:A -a Any -d Allow",
    "createAcl -b {broker} -s User:{user} -r Topic:A -a Nonsense -d Allow",
    "createAcl -b {broker} -s User:{user} -r Topic:A -a Pub -d Perhaps",
    "createAcl -b {broker} -s User:{user} -r Topic:A -a Pub -d Allow -i nowhere",
    "createAcl -b {broker} -s {user} -r Topic:A -a Pub -d Allow",
    "getAcl -b {broker} -s User:{user}",
    "getAcl -c interop -s User:{user}",
    "getAcl -b {broker} -s User:{user}-9",
    "updateAcl -b {broker} -s User:{user} -r Topic:A -a Get -d Deny",
    "updateAcl -c interop -s User:{user} -r Topic:B -a Create,Update,Delete -d Allow",
    "updateAcl -b {broker} -s User:{user}-9 -r Topic:A -a Get -d Deny",
    "listAcl -b {broker} -s {user}",
    "listAcl -c interop -s {user} -r Topic:",
    "listAcl -b {broker} -s {user} -r Nothing",
    "copyAcl -f {broker} -t {broker} -s User:{user}",
    "deleteAcl -b {broker} -s User:{user} -r Topic:A",
    "deleteAcl -b {broker} -s User:{user} -r Topic:Z",
    "deleteAcl -b {broker} -s User:{user}-9",
    "getAcl -b {broker} -s User:{user}",
    "deleteAcl -c interop -s User:{user}",
    "deleteAcl -b {broker} -s User:{user}",
    "getAcl -b {broker} -s User:{user}",
    "deleteUser -b {broker} -u {user}",
)
# By a user without rights, without a signature, and with a wrong one.
REFUSED_COMMANDS = (
    "listUser -b {broker}",
    "getUser -b {broker} -u root",
    "createUser -b {broker} -u other -p other-secret",
    "updateUser -b {broker} -u root -p mine",
    "deleteUser -b {broker} -u root",
    "listAcl -b {broker}",
    "createAcl -b {broker} -s User:powerless -r * -a All -d Allow",
    "deleteAcl -b {broker} -s User:powerless",
)
# Options that gantry requires and mqadmin does not.
WITHOUT_A_NAME = ("getUser -b {broker}", "getAcl -b {broker}")
# gantry prints this where mqadmin prints nothing.
SAID_BY_GANTRY = "there is no user {user} at"

NAMES = {"mqadmin": "orders", "gantry": "prices"}
_REFUSAL = re.compile(r"CODE: (\d+)  DESC: (.*?)(?: BROKER: .*|  \(from .*)?$", re.MULTILINE)
_FRAMES = re.compile(r"^(\tat |\s+\.\.\. \d+ more|For more information|See https|\s*$)")
_USER_ROW = re.compile(r"^(\S+ +)(\S+)( +)(Super|Normal)( +)(enable|disable)\b", re.MULTILINE)


@dataclass(frozen=True)
class Sides:
    """Java's broker and Gantry's, and mqadmin, which signs with the credentials in the file
    `keys`."""

    java: Broker
    ours: Broker
    admin: MqAdmin
    keys: Path

    def sign_as(self, name: str, password: str) -> None:
        self.keys.write_text(f"accessKey: {name}\nsecretKey: {password}\n")

    def do_not_sign(self) -> None:
        self.keys.unlink()

    def mqadmin(self, broker: Broker, command: str) -> str:
        words = placed(command, broker, NAMES["mqadmin"])
        return plain(self.admin.run(broker.name_servers[0], *words), NAMES["mqadmin"])


def placed(command: str, broker: Broker, user: str) -> list[str]:
    return command.format(broker=broker.address, user=user).split()


def gantry(broker: Broker, command: str) -> str:
    """The output of gantry in this process; neither output nor errors contain a password."""
    words = placed(command, broker, NAMES["gantry"])
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        dispatch([*words, "-n", broker.name_servers[0].address])
    assert "-secret" not in printed.getvalue()
    return plain(printed.getvalue(), NAMES["gantry"])


def plain(text: str, user: str) -> str:
    """The text without values that differ between brokers, tools and passwords."""
    text = re.sub(r"127\.0\.0\.1:\d+", "<address>", text.replace(user, "<user>"))
    text = _USER_ROW.sub(r"\1<password>  \4\5\6", text)
    return "".join(f"{line}\n" for line in text.splitlines() if not _FRAMES.match(line))


def assert_same(command: str, java: str, other: str) -> None:
    """Assert equal lines, or refusals with the same code whose texts begin alike."""
    refused, refused_by_other = _REFUSAL.search(java), _REFUSAL.search(other)
    if refused is None:
        assert other == java, command
        return
    assert refused_by_other is not None, (command, java, other)
    assert refused_by_other[1] == refused[1], (command, java, other)
    if "Exception" not in refused[2]:
        assert refused_by_other[2].startswith(refused[2].rstrip(".")), (command, java, other)


@pytest.fixture(scope="module")
def sides(folder: Callable[[str], Path]) -> Iterator[Sides]:
    def named(kind: str) -> Callable[[str], Path]:
        return lambda name: folder(f"{kind}-{name}")

    home = folder("mqadmin")
    with (
        running(BrokerKind.JAVA, named("java"), USERS, newest=REFERENCE) as java,
        running(BrokerKind.GANTRY, named("gantry"), USERS) as ours,
        MqAdmin(REFERENCE, home) as admin,
    ):
        yield Sides(java, ours, admin, home / "conf" / "tools.yml")


@pytest.fixture(autouse=True)
def _by_the_super_user(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANTRY_ACCESS_KEY", ROOT["username"])
    monkeypatch.setenv("GANTRY_SECRET_KEY", ROOT["password"])
    sides.sign_as(ROOT["username"], ROOT["password"])


@pytest.mark.parametrize("commands", [USER_COMMANDS, ACL_COMMANDS], ids=["users", "policies"])
def test_mqadmin_and_gantry_print_the_same_about_both_brokers(
    sides: Sides, commands: tuple[str, ...]
) -> None:
    refused = 0
    for command in commands:
        reference = sides.mqadmin(sides.java, command)
        refused += _REFUSAL.search(reference) is not None
        assert_same(command, reference, sides.mqadmin(sides.ours, command))
        for broker in (sides.java, sides.ours):
            told = gantry(broker, command)
            if command.startswith("getUser") and not reference:
                assert SAID_BY_GANTRY.format(user="<user>") in told
            else:
                assert_same(command, reference, told)
    assert 0 < refused < len(commands) // 2, "Java refuses some, and not most"


def test_mqadmin_prints_the_same_if_a_name_is_missing(sides: Sides) -> None:
    for command in WITHOUT_A_NAME:
        assert_same(command, sides.mqadmin(sides.java, command), sides.mqadmin(sides.ours, command))


@pytest.mark.parametrize("sender", ["powerless", "unsigned", "wrong-secret", "unknown"])
def test_mqadmin_is_refused_alike(sides: Sides, sender: str) -> None:
    for broker in (sides.java, sides.ours):
        sides.mqadmin(broker, "createUser -b {broker} -u powerless -p powerless-secret")
    if sender == "unsigned":
        sides.do_not_sign()
    else:
        name = {"powerless": "powerless", "wrong-secret": "root"}.get(sender, "unknown")
        sides.sign_as(name, "powerless-secret")
    for command in REFUSED_COMMANDS:
        java, ours = (sides.mqadmin(broker, command) for broker in (sides.java, sides.ours))
        assert _REFUSAL.search(java) is not None, (command, java)
        assert_same(command, java, ours)


def test_users_of_java_are_copied_with_their_passwords(sides: Sides) -> None:
    sides.mqadmin(sides.java, "createUser -b {broker} -u mover -p mover-secret -t Super")
    line = f"copyUser -f {sides.java.address} -t {sides.ours.address} -u mover"
    assert "copy user of mover from" in sides.mqadmin(sides.ours, line)
    sides.sign_as("mover", "mover-secret")
    assert "root" in sides.mqadmin(sides.ours, "listUser -b {broker}")


def test_requests_that_only_gantry_has_are_refused_by_java(sides: Sides) -> None:
    for broker in (sides.java, sides.ours):
        gantry(broker, "user create {user} -b {broker} -p first-secret --role observer")
        assert "Get, List" in gantry(broker, "acl list -b {broker} -f {user}")
    rotate = "user rotate {user} -b {broker} -p second-secret"
    assert "keeps one password for each user" in gantry(sides.java, rotate)
    assert "<user> has a new password" in gantry(sides.ours, rotate)
    assert "has no quotas" in gantry(sides.java, "quota list -b {broker}")
    assert "#Amount" in gantry(sides.ours, "quota list -b {broker}")
    for broker, password, is_known in (
        (sides.java, "first-secret", True),
        (sides.java, "second-secret", False),
        (sides.ours, "first-secret", True),
        (sides.ours, "second-secret", True),
    ):
        sides.sign_as(NAMES["gantry"], password)
        printed = sides.mqadmin(broker, "listUser -b {broker}")
        assert ("check signature failed" not in printed) == is_known, printed
