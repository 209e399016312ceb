"""Handles requests of mqadmin 4.9 and dashboards that show and change accounts in plain_acl.yml.

A change is checked as a whole and written to the file before it applies. The whole file is
rewritten, so its comments are lost, as with RocketMQ. Fields of an account that a request leaves
out keep their values, so a new account needs at least both keys. No answer contains a secret key.

A change of a secret key invalidates the old one at once, unless the field oldSecretSeconds, which
RocketMQ does not have, says for how long the old key stays valid; -1 means until it is removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gantrymq.acl.plain import plain_acl
from gantrymq.acl.plain.accounts import Account, Rules
from gantrymq.acl.plain.keys import OldKey
from gantrymq.acl.rights.rights import Right
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.core.engine.tasks import Task, saved
from gantrymq.broker.core.messages import File, Outcome, Request
from gantrymq.broker.core.metadata.table_changes import spread, undone
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.wire import javajson
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.admin import (
    DeleteAclConfigRequest,
    GetBrokerAclInfoResponse,
    UpdateAclConfigRequest,
    UpdateGlobalWhiteAddrsRequest,
)
from gantrymq.wire.jsonvalue import JsonObject

OLD_SECRET_SECONDS: Final = "oldSecretSeconds"  # noqa: S105 - the name of a field

# 5.x uses the names of these codes for other numbers: see codes.py.
UPDATE_FAILED: Final = 209
DELETE_FAILED: Final = 210
WHITE_LIST_FAILED: Final = 211

_OVERTAKEN: Final = (
    "another broker became master meanwhile, and its accounts are in force: check whether they have"
    " this change, else repeat the request"
)

_OFF: Final = (
    "access control is off on this broker: set aclEnable=true, name the file by aclFile, and"
    " restart it"
)
_OUTSIDE_BRACES: Final = re.compile(r",(?![^{]*})")


def update_account(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = UpdateAclConfigRequest.decode(request.command.ext)
    rules = _rules(state)
    if rules is None:
        return refused(UPDATE_FAILED, _OFF)
    try:
        account = _account(rules.accounts.get(header.access_key), header)
        account = _rekeyed(account, rules, request.command.ext or {}, state.wall_ms)
    except ConfigurationError as error:
        return refused(UPDATE_FAILED, str(error))
    if state.access.users is not None and account.access_key in state.access.users.table.users:
        return refused(
            UPDATE_FAILED,
            f"The accessKey={account.access_key} is the name of a user: choose another one, or"
            " delete the user first",
        )
    state.effects.info(f"updateAclConfig called by {request.channel.peer}, {header.access_key}")
    return _write(state, rules.with_account(account, state.wall_ms), UPDATE_FAILED)


def delete_account(state: State, request: Request) -> Outcome | Task[Outcome]:
    key = DeleteAclConfigRequest.decode(request.command.ext).access_key
    rules = _rules(state)
    if rules is None:
        return refused(DELETE_FAILED, _OFF)
    if key not in rules.accounts:
        return refused(
            DELETE_FAILED,
            f"The accessKey[{key}] corresponding to accessConfig has been deleted failed."
            " There is no such account",
        )
    state.effects.info(f"deleteAclConfig called by {request.channel.peer}, {key}")
    return _write(state, rules.without_account(key, state.wall_ms), DELETE_FAILED)


def update_white_list(state: State, request: Request) -> Outcome | Task[Outcome]:
    # mqadmin leaves the path out unless its user gives one.
    ext = {"aclFileFullPath": "", **(request.command.ext or {})}
    header = UpdateGlobalWhiteAddrsRequest.decode(ext)
    rules = _rules(state)
    if rules is None:
        return refused(WHITE_LIST_FAILED, _OFF)
    own = state.settings.acl_file
    if header.acl_file_full_path not in ("", own):
        return refused(
            WHITE_LIST_FAILED,
            f"The globalWhiteAddresses[{header.global_white_addrs}] has been updated failed."
            f" This broker has one file of accounts, {own}: leave the path out",
        )
    texts = _OUTSIDE_BRACES.split(header.global_white_addrs)
    try:
        patterns = [plain_acl.pattern(text.strip()) for text in texts if text.strip()]
    except ConfigurationError as error:
        return refused(WHITE_LIST_FAILED, str(error))
    state.effects.info(f"updateGlobalWhiteAddrsConfig called by {request.channel.peer}")
    return _write(state, rules.with_global_white(patterns, state.wall_ms), WHITE_LIST_FAILED)


def get_versions(state: State, request: Request) -> Outcome:
    rules = _rules(state)
    if rules is None:
        return refused(ResponseCode.SYSTEM_ERROR, _OFF)
    version, identity = rules.version.to_json(), state.identity
    return done(
        GetBrokerAclInfoResponse(
            version=_text(version),
            all_acl_file_version=_text({state.settings.acl_file: version}),
            broker_name=identity.name,
            broker_addr=identity.address,
            cluster_name=identity.cluster,
        )
    )


def get_accounts(state: State, request: Request) -> Outcome:
    rules = _rules(state)
    if rules is None:
        return refused(ResponseCode.SYSTEM_ERROR, _OFF)
    return done_json(
        {
            "globalWhiteAddrs": [pattern.text for pattern in rules.global_white],
            "plainAccessConfigs": [account_json(account) for account in rules.accounts.values()],
        }
    )


def _rules(state: State) -> Rules | None:
    return None if state.access.guard is None else state.access.guard.rules


def _account(before: Account | None, asked: UpdateAclConfigRequest) -> Account:
    """The account with the fields that the request names changed; a new one if there is none."""
    account = before or Account(access_key=asked.access_key, secret_key=asked.secret_key or "")
    if asked.secret_key:
        account = replace(account, secret_key=asked.secret_key)
    if asked.white_remote_address is not None:
        pattern = plain_acl.pattern(asked.white_remote_address)
        account = replace(account, white_remote_address=pattern)
    if asked.admin is not None:
        account = replace(account, admin=asked.admin)
    if asked.default_topic_perm:
        right = plain_acl.right(asked.default_topic_perm)
        account = replace(account, default_topic_perm=right)
    if asked.default_group_perm:
        right = plain_acl.right(asked.default_group_perm)
        account = replace(account, default_group_perm=right)
    if asked.topic_perms is not None:
        account = replace(account, topic_perms=_rights(asked.topic_perms))
    if asked.group_perms is not None:
        account = replace(account, group_perms=_rights(asked.group_perms))
    return account


def _rekeyed(account: Account, rules: Rules, ext: Mapping[str, str], wall_ms: int) -> Account:
    """The account with its previous secret key, valid for as long as the request says."""
    before = rules.accounts.get(account.access_key)
    text = ext.get(OLD_SECRET_SECONDS)
    if before is None or (text is None and before.secret_key == account.secret_key):
        return account
    secret = before.secret_key
    if secret == account.secret_key:
        secret = before.old_key.secret if before.old_key else ""
    try:
        old_key = OldKey.kept(secret, int(text or "0"), wall_ms) if secret else None
    except ValueError as error:
        raise ConfigurationError(f"{OLD_SECRET_SECONDS}={error}") from None
    return replace(account, old_key=old_key)


def _rights(text: str) -> dict[str, Right]:
    return plain_acl.rights(each for each in text.split(",") if each.strip())


def _write(state: State, rules: Rules, failure_code: int) -> Outcome | Task[Outcome]:
    access = state.access
    if state.settings.acl_file_read_only:
        return refused(
            failure_code,
            f"nothing was changed: aclFileReadOnly=true, so {state.settings.acl_file} is written by"
            " whatever provides it, such as a Secret of Kubernetes; change it there",
        )
    if access.is_changing:
        return refused(
            ResponseCode.SYSTEM_BUSY,
            "[REJECTREQUEST]another change of accounts is being written; try again",
        )
    access.begin(rules)
    return _written(state, failure_code)


def _written(state: State, failure_code: int) -> Task[Outcome]:
    epoch = state.members.epoch
    coming, was_safe = state.access.coming, state.files.is_safe(File.ACL)
    failure = yield from saved(File.ACL)
    if state.access.coming is not coming:
        return refused(failure_code, _OVERTAKEN)
    if failure is None:
        state.access.commit()
        failure = yield from spread(state, epoch)
        return done() if failure is None else refused(failure_code, undone(failure))
    state.access.drop()
    if was_safe:
        state.files.forget(File.ACL)  # the rules are unchanged: the write need not be retried
    return refused(failure_code, f"nothing was changed: {state.settings.acl_file}: {failure}")


def account_json(account: Account) -> JsonObject:
    return {
        "accessKey": account.access_key,
        "admin": account.admin,
        "defaultGroupPerm": account.default_group_perm.text,
        "defaultTopicPerm": account.default_topic_perm.text,
        "groupPerms": [*plain_acl.rights_texts(account.group_perms)],
        "topicPerms": [*plain_acl.rights_texts(account.topic_perms)],
        "whiteRemoteAddress": account.white_remote_address.text,
    }


def _text(value: JsonObject) -> str:
    return javajson.dumps_fastjson(value).decode()


HANDLERS: Final[Handlers] = {
    RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: update_account,
    RequestCode.DELETE_ACL_CONFIG: delete_account,
    RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: update_white_list,
    RequestCode.GET_BROKER_CLUSTER_ACL_INFO: get_versions,
    RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: get_accounts,
}
