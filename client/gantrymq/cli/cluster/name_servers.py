"""Defines `gantry getNamesrvConfig` and related commands, which ask all name servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.cli.frame.command import Command
from gantrymq.cli.frame.option import Options, required
from gantrymq.cli.frame.page import Page, Part, Text, pairs

if TYPE_CHECKING:
    from gantrymq.client.core.admin.administration import Administration
    from gantrymq.client.core.admin.asking import Each
    from gantrymq.wire.command import Command as Answer

_NAMESPACE: Final = required("s", "namespace", "the namespace")
_BROKER: Final = required("b", "brokerName", "broker name")


async def settings(admin: Administration, options: Options) -> Page:
    del options
    answers = await admin.name_servers.settings()
    parts: list[Part] = []
    for address, each in answers.done.items():
        listed = pairs(address, each)
        parts.append(
            Text(address, [f"============{address}============", *listed.shown], listed.value)
        )
    return Page(parts, list(answers.failed.values()))


async def change(admin: Administration, options: Options) -> Page:
    key, value = options.text("key"), options.text("value")
    answers = await admin.name_servers.change({key: value})
    shown = Page(failures=list(answers.failed.values()))
    if answers.done:
        listed = ", ".join(answers.done)
        lines = [f"update name server config success![{listed}]", f"{key} : {value}"]
        shown.parts.append(Text("changed", lines, [*answers.done]))
    return shown


async def put(admin: Administration, options: Options) -> Page:
    answers = await admin.name_servers.put(
        options.text("namespace"), options.text("key"), options.text("value")
    )
    return _done(answers, "create or update kv config to namespace success.")


async def delete(admin: Administration, options: Options) -> Page:
    answers = await admin.name_servers.delete(options.text("namespace"), options.text("key"))
    return _done(answers, "delete kv config from namespace success.")


def _done(answers: Each[Answer], text: str) -> Page:
    shown = Page(failures=list(answers.failed.values()))
    if not answers.failed:
        shown.say("done", text, [*answers.done])
    return shown


async def wipe_write(admin: Administration, options: Options) -> Page:
    broker = options.text("brokerName")
    return _counted(
        await admin.name_servers.wipe_write(broker), f"wipe write perm of broker[{broker}]"
    )


async def add_write(admin: Administration, options: Options) -> Page:
    broker = options.text("brokerName")
    return _counted(
        await admin.name_servers.add_write(broker), f"add write perm of broker[{broker}]"
    )


def _counted(answers: Each[int], text: str) -> Page:
    shown = Page(failures=list(answers.failed.values()))
    for address, count in answers.done.items():
        shown.say(address, f"{text} in name server[{address}] OK, {count}", count)
    for address in answers.failed:
        shown.say(address, f"{text} in name server[{address}] Failed", None)
    return shown


COMMANDS: Final = {
    command.name: command
    for command in (
        Command("getNamesrvConfig", (), settings),
        Command(
            "updateNamesrvConfig",
            (required("k", "key", "the setting"), required("v", "value", "its new value")),
            change,
        ),
        Command(
            "updateKvConfig",
            (_NAMESPACE, required("k", "key", "the key"), required("v", "value", "its value")),
            put,
        ),
        Command("deleteKvConfig", (_NAMESPACE, required("k", "key", "the key")), delete),
        Command("wipeWritePerm", (_BROKER,), wipe_write),
        Command("addWritePerm", (_BROKER,), add_write),
    )
}
