"""Tests that keys and defaults are those of Java's MessageStoreConfig 4.9.7 and 5.3.3."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gantrymq.base.configuration.settings import (
    Layer,
    Source,
    bind,
    setting_fields,
    settings_to_text,
)
from gantrymq.base.errors import ConfigurationError
from gantrymq.store.settings import FlushDiskType, StoreSettings

JAVA = json.loads((Path(__file__).parent / "java_store_settings.json").read_text())
OURS = {
    "keptTailsBytesMax",
    "maxTransferBytesOnBulkPull",
    "maxTransferCountOnBulkPull",
    "producerSessionHours",
    "producerSessionsMax",
}
UNSET_IN_JAVA = {"storePathRootDir", "storePathCommitLog"}  # made from the home folder there
DIFFERENT = {"cleanFileForciblyEnable": "false"}


def test_every_key_but_one_exists_in_java() -> None:
    keys = {each.key for each in setting_fields(StoreSettings)}
    assert keys - UNSET_IN_JAVA - OURS <= set(JAVA["5.3.3"])


@pytest.mark.parametrize("version", ["4.9.7", "5.3.3"])
def test_defaults_equal_those_of_java_except_forced_deletion(version: str) -> None:
    java = JAVA[version]
    ours = settings_to_text(StoreSettings())
    differences = {key: text for key, text in ours.items() if java.get(key, text) != text}
    assert differences == DIFFERENT


def test_every_setting_is_described() -> None:
    assert all(each.about for each in setting_fields(StoreSettings))


def test_a_broker_conf_is_understood() -> None:
    values = {"flushDiskType": " SYNC_FLUSH", "mappedFileSizeCommitLog": "65536"}
    bound = bind(StoreSettings, [Layer(Source.FILE, values, "broker.conf")])
    assert bound.settings.flush_disk_type is FlushDiskType.SYNC_FLUSH
    assert bound.settings.mapped_file_size_commit_log == 65536


def test_invalid_flush_type_is_reported() -> None:
    with pytest.raises(ConfigurationError, match="one of ASYNC_FLUSH, SYNC_FLUSH"):
        bind(StoreSettings, [Layer(Source.FILE, {"flushDiskType": "SYNC"}, "broker.conf")])
