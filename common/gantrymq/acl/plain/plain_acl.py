"""Reads and writes RocketMQ 4's file of accounts, plain_acl.yml.

    globalWhiteRemoteAddresses: [10.1.*.*]
    accounts:
    - accessKey: RocketMQ                   more than six characters, as the secret key
      secretKey: 12345678
      oldSecretKey: 87654321                valid too while clients are updated; Gantry only
      oldSecretKeyUntil: 2026-12-31T00:00:00Z    its end; without it: until it is removed
      whiteRemoteAddress: 192.168.0.*       addresses that need no signature for this account
      admin: false
      defaultTopicPerm: DENY                DENY, PUB, SUB, PUB|SUB
      defaultGroupPerm: SUB
      topicPerms: [topicA=DENY, topicB=PUB|SUB]
      groupPerms: [groupA=SUB]
    dataVersion: [{counter: 1, timestamp: 1700000000000}]

Content that Java refuses is refused, and content that Java ignores is ignored with a warning: it
never admits a client. Written files have no comments, as Java's have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from gantrymq.acl.plain.accounts import Account, Rules
from gantrymq.acl.plain.keys import UNTIL_REMOVED, OldKey
from gantrymq.acl.plain.white_list import AddressPattern
from gantrymq.acl.plain.yaml_part import Part
from gantrymq.acl.rights.rights import RIGHTS, Right
from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.errors import ConfigurationError
from gantrymq.wire.bodies.shared import DataVersion

if TYPE_CHECKING:
    from gantrymq.acl.plain.yaml_tree import Tree

_FILE_KEYS: Final = ("globalWhiteRemoteAddresses", "accounts", "dataVersion")
_ACCOUNT_KEYS: Final = (
    *("accessKey", "secretKey", "oldSecretKey", "oldSecretKeyUntil"),
    *("whiteRemoteAddress", "admin"),
    *("defaultTopicPerm", "defaultGroupPerm", "topicPerms", "groupPerms"),
)
_VERSION_KEYS: Final = ("counter", "timestamp", "stateVersion")
_CREDENTIALS_KEYS: Final = ("accessKey", "secretKey", "securityToken")


def read(content: bytes) -> Rules:
    """Parse the file; ConfigurationError says what cannot be used, and where."""
    tree = _tree(content)
    warnings: list[str] = []
    whole = Part("the file", {} if tree is None else tree, _FILE_KEYS, warnings)
    white = [pattern(each) for each in whole.texts("globalWhiteRemoteAddresses")]
    accounts: dict[str, Account] = {}
    for part in whole.parts("accounts", _ACCOUNT_KEYS):
        try:
            account = _account(part)
        except ConfigurationError as error:
            raise ConfigurationError(f"{part.place}: {error}") from error
        if account.access_key in accounts:
            warnings.append(f"{part.place}: {account.access_key} is there twice, the first counts")
        accounts.setdefault(account.access_key, account)
    if not accounts and not white:
        warnings.append(
            "it has neither accounts nor globalWhiteRemoteAddresses: no client is admitted"
        )
    return Rules(
        global_white=tuple(white),
        accounts=accounts,
        version=_version(whole),
        warnings=tuple(warnings),
    )


def read_anew(content: bytes) -> Rules:
    """Parse a changed file; empty content is refused, since it may be half written."""
    if not _tree(content):
        raise ConfigurationError("it is empty; `accounts: []` admits no client")
    return read(content)


def write(rules: Rules) -> bytes:
    """The content of which `read` makes these rules."""
    lines = [_list("", "globalWhiteRemoteAddresses", [each.text for each in rules.global_white])]
    lines.append("accounts:" if rules.accounts else "accounts: []")
    for account in rules.accounts.values():
        lines += _lines_of(account)
    version = rules.version
    lines += ["dataVersion:", f"- counter: {version.counter}"]
    lines.append(f"  timestamp: {version.timestamp_ms}")
    return ("\n".join(lines) + "\n").encode()


def read_credentials(content: bytes) -> Credentials:
    """Read the credentials from a file with accessKey and secretKey, like conf/tools.yml."""
    part = Part("the file", _tree(content), _CREDENTIALS_KEYS, [])
    account = Account(access_key=part.text("accessKey"), secret_key=part.text("secretKey"))
    return Credentials(account.access_key, account.secret_key)


def _tree(content: bytes) -> Tree:
    from gantrymq.acl.plain import yaml_tree  # noqa: PLC0415 - most servers have no accounts, nor YAML

    return yaml_tree.read(content)


def pattern(text: str) -> AddressPattern:
    try:
        return AddressPattern.parse(text)
    except ValueError as error:
        raise ConfigurationError(
            f"Netaddress examine Exception netaddress is {text}: {error}"
        ) from error


def right(text: str) -> Right:
    """Parse a right; ConfigurationError if it is invalid."""
    found = RIGHTS.get(text.strip())
    if found is None:
        raise ConfigurationError(
            f"Parse resource permission error for {text}.\nThe expected permissions are"
            " 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB', or DENY"
        )
    return found


def rights(listed: Iterable[str]) -> dict[str, Right]:
    """Parse `name=RIGHT` texts."""
    return {name: right(text) for name, text in map(_name_and_right, listed)}


def rights_texts(owned: Mapping[str, Right]) -> list[str]:
    return [f"{name}={each.text}" for name, each in owned.items()]


def _name_and_right(text: str) -> tuple[str, str]:
    name, _, last = (part.strip() for part in text.partition("="))
    if not name or not last or "=" in last:
        raise ConfigurationError(
            f"Parse Resource format error for {text}.\nThe expected resource format is 'Res=Perm'."
            " For example: topicA=SUB"
        )
    return name, last


def _account(part: Part) -> Account:
    return Account(
        access_key=part.text("accessKey"),
        secret_key=part.text("secretKey"),
        white_remote_address=pattern(part.text("whiteRemoteAddress")),
        admin=part.flag("admin"),
        default_topic_perm=_right(part, part.text("defaultTopicPerm") or "DENY"),
        default_group_perm=_right(part, part.text("defaultGroupPerm") or "DENY"),
        topic_perms=_rights(part, "topicPerms"),
        group_perms=_rights(part, "groupPerms"),
        old_key=_old_key(part),
    )


def _old_key(part: Part) -> OldKey | None:
    secret, until = part.text("oldSecretKey"), part.text("oldSecretKeyUntil")
    if not secret:
        return None
    if not until:
        return OldKey(secret)
    try:
        moment = datetime.fromisoformat(until)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ConfigurationError(
            f"oldSecretKeyUntil={until} is no moment: write it as 2026-12-31T00:00:00Z, or leave it"
            " out"
        )
    return OldKey(secret, int(moment.timestamp() * 1000))


def _rights(part: Part, key: str) -> dict[str, Right]:
    named = map(_name_and_right, part.texts(key))
    return {name: _right(part, text) for name, text in named}


def _right(part: Part, text: str) -> Right:
    """Parse a right; an unknown one means DENY with a warning, as in Java."""
    found = RIGHTS.get(text.strip())
    if found is None:
        part.warnings.append(f"{part.place}: {text} is no permission, taken for DENY")
    return found or Right.DENY


def _version(whole: Part) -> DataVersion:
    versions = whole.parts("dataVersion", _VERSION_KEYS)
    if not versions:
        return DataVersion()
    return DataVersion(versions[0].number("timestamp"), versions[0].number("counter"))


def _lines_of(account: Account) -> list[str]:
    """The account as lines. Texts are quoted, so that 0123 or yes stay texts, here and in Java."""
    return [
        f"- accessKey: {_quoted(account.access_key)}",
        f"  secretKey: {_quoted(account.secret_key)}",
        *_old_key_lines(account.old_key),
        f"  whiteRemoteAddress: {_quoted(account.white_remote_address.text)}",
        f"  admin: {str(account.admin).lower()}",
        f"  defaultTopicPerm: {account.default_topic_perm.text}",
        f"  defaultGroupPerm: {account.default_group_perm.text}",
        _list("  ", "topicPerms", rights_texts(account.topic_perms)),
        _list("  ", "groupPerms", rights_texts(account.group_perms)),
    ]


def _old_key_lines(old: OldKey | None) -> list[str]:
    if old is None:
        return []
    lines = [f"  oldSecretKey: {_quoted(old.secret)}"]
    if old.until_ms != UNTIL_REMOVED:
        moment = datetime.fromtimestamp(old.until_ms / 1000, UTC)
        lines.append(f"  oldSecretKeyUntil: {_quoted(moment.isoformat(timespec='milliseconds'))}")
    return lines


def _list(indent: str, key: str, texts: Iterable[str]) -> str:
    items = [f"{indent}- {_quoted(text)}" for text in texts]
    return "\n".join([f"{indent}{key}:", *items]) if items else f"{indent}{key}: []"


def _quoted(text: str) -> str:
    """Quote a text; accounts have printable characters only."""
    return "'" + text.replace("'", "''") + "'"
