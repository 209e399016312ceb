"""Settings of bulk reads travel to other processes without showing secrets."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from gantrymq.acl.signature.signature import Credentials
from gantrymq.base.errors import ConfigurationError
from gantrymq.client.bulk import BulkSettings, OffsetGoneError, QueueRef, QueueTruncatedError
from gantrymq.runtime.security.certificates import ClientTls

SETTINGS = BulkSettings(name_servers=("n:9876",), group="g")
KEYS = Credentials("key", "a secret of many characters")


def test_settings_and_errors_survive_pickling() -> None:
    queue = QueueRef("T", "broker-a", 3)
    whole = BulkSettings(
        name_servers=("n:9876",), group="g", credentials=KEYS, tls=ClientTls(test_mode=True)
    )
    assert pickle.loads(pickle.dumps(whole)) == whole  # noqa: S301 - our own bytes
    for error in (OffsetGoneError(queue, 1, 5, 9), QueueTruncatedError(queue, 5, 9, 6)):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        assert str(again) == str(error)
        assert again.queue == queue


def test_secrets_appear_in_no_text() -> None:
    settings = BulkSettings(name_servers=("n:9876",), group="g", credentials=KEYS)
    assert "secret of many" not in repr(settings) + str(settings)


def test_keys_come_from_the_file_then_from_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "tools.yml"
    file.write_text("accessKey: from-file\nsecretKey: secret-of-file\n")
    variables = {"GANTRY_ACCESS_KEY": "from-environment", "GANTRY_SECRET_KEY": "secret"}
    by_file = BulkSettings(name_servers=("n:9876",), group="g", credentials_file=str(file))
    assert by_file.signs_with(variables) == Credentials("from-file", "secret-of-file")
    assert SETTINGS.signs_with(variables) == Credentials("from-environment", "secret")
    assert SETTINGS.signs_with({}) is None


def test_one_key_without_the_other_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="belong together"):
        SETTINGS.signs_with({"GANTRY_ACCESS_KEY": "key"})


def test_invalid_settings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="no name server address"):
        BulkSettings(name_servers=(), group="g")
    with pytest.raises(ConfigurationError, match="recover_s"):
        BulkSettings(name_servers=("n:9876",), group="g", recover_s=0)
