"""Tests that invalid settings are refused where they are made."""

from __future__ import annotations

import math

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.client.core.pop.pops import PopSettings
from gantrymq.client.core.pull.lite_queue import Buffering
from gantrymq.client.core.pull.lite_settings import LiteSettings
from gantrymq.client.core.push.consume_settings import ConsumeSettings
from gantrymq.client.core.send.producer_settings import ProducerSettings

WRONG: list[tuple[type, str, object, str]] = [
    (ClientSettings, "heartbeat_s", 0, "a number above 0"),
    (ClientSettings, "persist_offsets_s", 0.0, "a number above 0"),
    (ClientSettings, "poll_name_server_s", -1, "a number above 0"),
    (ClientSettings, "rebalance_s", math.nan, "a number above 0"),
    (ClientSettings, "api_timeout_s", math.inf, "a number above 0"),
    (ClientSettings, "instance_name", None, "a text"),
    (ClientSettings, "vip_channel", "yes", "True or False"),
    (ProducerSettings, "send_timeout_s", "3", "a number above 0"),
    (ProducerSettings, "retries", None, "a whole number from 0 on"),
    (ProducerSettings, "retries", True, "a whole number from 0 on"),
    (ProducerSettings, "compression", "zstd", "a CompressionType"),
    (ConsumeSettings, "consume_threads", 2.5, "a whole number from 1 to 1000"),
    (ConsumeSettings, "consume_timeout_s", 0, "a number above 0"),
    (ConsumeSettings, "close_timeout_s", -1, "a number from 0 on"),
    (ConsumeSettings, "consume_timestamp_ms", "now", "a whole number"),
    (ConsumeSettings, "allocate", None, "a strategy"),
    (ConsumeSettings, "consume_from", "CONSUME_FROM_FIRST_OFFSET", "a ConsumeFrom"),
    (LiteSettings, "auto_commit_s", 0.5, "a number from 1 on"),
    (LiteSettings, "allocate", "average", "a strategy"),
    (LiteSettings, "poll_timeout_s", None, "a number from 0 on"),
    (Buffering, "messages_max", 0, "a whole number above 0"),
    (PopSettings, "count", 33, "a whole number from 1 to 32"),
    (PopSettings, "invisible_s", 0, "a number above 0"),
]


@pytest.mark.parametrize(("kind", "name", "value", "allowed"), WRONG)
def test_a_refusal_says_what_is_allowed(kind: type, name: str, value: object, allowed: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        kind(**{name: value})
    assert str(refused.value).startswith(f"{name}={value!r} must be {allowed}")


def test_integers_fit_float_settings_and_none_optional_ones() -> None:
    assert ConsumeSettings(suspend_s=2, consume_timestamp_ms=None).suspend_s == 2
