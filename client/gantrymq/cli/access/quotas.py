"""Defines `gantry quota`: limits of users, topics, groups and addresses at Gantry's brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.access.targets import AT_MASTERS, brokers, changed
from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.cli.frame.option import Option, Options, flag
from gantrymq.cli.frame.page import Page, Table
from gantrymq.client.core.admin.asking import on_each
from gantrymq.client.core.errors import BrokerError
from gantrymq.wire.bodies.quotas import (
    LIMITS_BY_KIND,
    UNLIMITED,
    QuotaKind,
    QuotaLimit,
    QuotaTableBody,
    amount_of,
    kind_of,
)
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.headers.quota import SetQuotaRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gantrymq.client.core.admin.administration import Administration

_REMOVED: Final = "none"
_LIFTED: Final = "unlimited"
_KIND: Final = Option(
    "",
    "kind",
    "user, topic, group or address",
    is_positional=True,
    choices=tuple(QuotaKind),
)
_NAME: Final = Option(
    "", "name", "a name, a prefix such as orders*, or * for every name", is_positional=True
)
_TITLES: Final = ("#Broker", "#Kind", "#Name", "#Limit", "#Amount")
_FORM: Final = "%-22s  %-8s  %-24s  %-22s  %-14s"
_USE_TITLES: Final = (
    *("#Broker", "#Kind", "#Name", "#Limit", "#Allowed", "#Used", "#DelayMillis"),
)
_USE_FORM: Final = "%-22s  %-8s  %-24s  %-22s  %-14d  %-14d  %-8d"


async def listed(admin: Administration, options: Options) -> Page:
    addresses = await brokers(admin, options)
    answers = await on_each(addresses, admin.quotas.table)
    failures = [_explained(each) for each in answers.failed.values()]
    if options.is_set("use"):
        return Page([_use_table(answers.done)], failures)
    rows = [
        (address, quota.kind.value, quota.name, limit.value, _text(amount))
        for address, table in sorted(answers.done.items())
        for quota in table.quotas
        for limit, amount in quota.limits.items()
    ]
    return Page([Table("quotas", _TITLES, _FORM, rows)], failures)


def _use_table(answers: Mapping[str, QuotaTableBody]) -> Table:
    rows = [
        (address, use.kind.value, use.name, use.limit.value, use.allowed, use.used, use.delay_ms)
        for address, table in sorted(answers.items())
        for use in table.use
    ]
    return Table("use", _USE_TITLES, _USE_FORM, rows)


async def set_quota(admin: Administration, options: Options) -> Page:
    kind, name = options.text("kind"), options.text("name")
    change = SetQuotaRequest(
        kind=kind,
        name=name,
        produce_bytes_per_second=_amount(options, QuotaLimit.PRODUCE_BYTES),
        consume_bytes_per_second=_amount(options, QuotaLimit.CONSUME_BYTES),
        requests_per_second=_amount(options, QuotaLimit.REQUESTS),
        storage_bytes=_amount(options, QuotaLimit.STORAGE_BYTES),
    )
    if change == SetQuotaRequest(kind=kind, name=name):
        allowed = LIMITS_BY_KIND[kind_of(kind)]
        limits = ", ".join(f"--{limit}" for limit in QuotaLimit if limit in allowed)
        raise UsageError(f"no limit is given; a quota of kind {kind} can have {limits}")
    shown = await changed(
        await brokers(admin, options),
        lambda address: admin.quotas.set(address, change),
        f"the quota of {kind} {name} is set at %s.",
    )
    return _with_reasons(shown)


def _amount(options: Options, limit: QuotaLimit) -> int | None:
    """Return the amount as requests state it: 0 removes the limit from the quota, -1 makes the
    limits of wider quotas not apply."""
    text = options.maybe(limit.value)
    if text is None:
        return None
    if text == _REMOVED:
        return 0
    return UNLIMITED if text == _LIFTED else amount_of(text, limit)


async def delete(admin: Administration, options: Options) -> Page:
    kind, name = options.text("kind"), options.text("name")
    shown = await changed(
        await brokers(admin, options),
        lambda address: admin.quotas.delete(address, kind, name),
        f"the quota of {kind} {name} is deleted at %s.",
    )
    return _with_reasons(shown)


def _with_reasons(shown: Page) -> Page:
    shown.failures = [_explained(each) for each in shown.failures]
    return shown


def _explained(failure: Exception) -> Exception:
    """Replace a broker's refusal of an unknown request by the reason: it has no quotas."""
    if isinstance(failure, BrokerError) and (
        failure.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    ):
        return CommandError(
            f"{failure.address} has no quotas: brokers of RocketMQ and of older versions of Gantry"
            " do not support them"
        )
    return failure


def _text(amount: int) -> str:
    return _LIFTED if amount == UNLIMITED else str(amount)


def _limit_option(limit: QuotaLimit) -> Option:
    example = "2000" if limit is QuotaLimit.REQUESTS else "10MiB"
    about = f"{example}; {_REMOVED} removes the limit, {_LIFTED} overrides limits of wider quotas"
    return Option("", limit.value, about)


COMMANDS: Final = {
    command.name: command
    for command in (
        Command(
            "quota list",
            (*AT_MASTERS, flag("", "use", "the names with the highest use")),
            listed,
        ),
        Command(
            "quota set",
            (_KIND, _NAME, *AT_MASTERS, *map(_limit_option, QuotaLimit)),
            set_quota,
        ),
        Command("quota delete", (_KIND, _NAME, *AT_MASTERS), delete),
    )
}
