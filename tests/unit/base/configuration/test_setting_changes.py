"""Tests which settings a request may change, and which saved changes a start uses."""

from __future__ import annotations

from dataclasses import dataclass

from gantrymq.base.configuration.setting_changes import SettingsTable
from gantrymq.base.configuration.settings import (
    Changes,
    Layer,
    Source,
    bind,
    format_settings,
    live_setting,
    setting,
    settings_to_text,
    shown_unknown,
)
from gantrymq.base.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Example:
    """Settings of each kind."""

    bind_address: str = setting("0.0.0.0", "read at the start")
    guard_file: str = setting("", "protects the server", changes=Changes.NEVER)
    header: str = setting("", "holds a token", secret=True)
    hours: str = live_setting("04", "has a form")
    limit: int = live_setting(5, "has bounds", lowest=1, highest=9)


def even(text: str) -> None:
    if int(text) % 2:
        raise ConfigurationError(f"hours={text}: must be even")


TABLE = SettingsTable("example", [Example], {"hours": even})


def test_only_declared_settings_may_change() -> None:
    assert TABLE.faults({"limit": "9", "hours": "2"}) == []
    assert TABLE.faults({"limit": "10", "hours": "3", "bindAddress": "1.1.1.1", "limt": "1"}) == [
        "limit=10: must be a whole number from 1 to 9",
        "hours=3: must be even",
        (
            "bindAddress is read when the example starts: change it in its configuration file"
            " (-c FILE) and restart"
        ),
        "limt is not a setting known here; did you mean limit?",
    ]


def test_files_and_guards_are_never_changed() -> None:
    assert {"guardFile", "rocketmqHome", "brokerConfigPath", "configStorePath"} <= TABLE.never
    assert "limit" not in TABLE.never


def test_a_saved_value_that_is_not_allowed_is_left_out() -> None:
    values = {"limit": "77", "hours": "2", "bindAddress": "1.1.1.1", "guardFile": "x", "new": "1"}
    usable = TABLE.usable(Layer(Source.SAVED, values, "saved.properties", {"limit": 3}))
    assert usable.values == {key: values[key] for key in values if key != "limit"}
    assert usable.warnings == (
        (
            "set aside a saved setting, and the example starts without it: saved at run time"
            " saved.properties, line 3: limit=77: must be a whole number from 1 to 9"
        ),
    )
    assert bind(Example, [usable]).settings.limit == 5


def test_secrets_are_not_shown() -> None:
    settings = Example(header="Bearer 7c9e1f")
    assert "header=***\n" in format_settings(settings)
    assert "header=\n" in format_settings(Example())
    assert settings_to_text(settings)["header"] == "Bearer 7c9e1f"


def test_unknown_keys_that_sound_like_secrets_are_not_shown() -> None:
    values = {"keyPassword": "a", "apiToken": "b", "SECRETKEY": "c", "brokerName": "d"}
    assert shown_unknown(values) == {
        "keyPassword": "***", "apiToken": "***", "SECRETKEY": "***", "brokerName": "d",
    }  # fmt: skip
