"""Tests how the API and its credentials are found."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from gantrymq.base.errors import ConfigurationError
from gantrymq.operator.kube import api_config


def write(folder: Path, *, user: dict[str, Any], cluster: dict[str, Any] | None = None) -> Path:
    path = folder / "config"
    content = {
        "current-context": "here",
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "two"}}
        ],
        "clusters": [{"name": "c", "cluster": cluster or {"server": "http://127.0.0.1:80/"}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def test_a_kubeconfig_gives_address_namespace_and_token(tmp_path: Path) -> None:
    config = api_config.of_kubeconfig(write(tmp_path, user={"token": "secret"}))

    assert config.url == "http://127.0.0.1:80"
    assert config.namespace == "two"
    assert config.token is not None
    assert config.token() == "secret"
    assert config.tls is None


def test_a_token_file_is_read_for_each_request(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    config = api_config.of_kubeconfig(write(tmp_path, user={"tokenFile": "token"}))
    assert config.token is not None
    assert config.token() == "first"

    (tmp_path / "token").write_text("second\n")

    assert config.token() == "second"


def test_credentials_from_a_program_are_refused_with_a_reason(tmp_path: Path) -> None:
    path = write(tmp_path, user={"exec": {"command": "aws"}})

    with pytest.raises(ConfigurationError, match="use a kubeconfig with a token"):
        api_config.of_kubeconfig(path)


def test_an_invalid_certificate_is_an_error(tmp_path: Path) -> None:
    cluster = {
        "server": "https://127.0.0.1",
        "certificate-authority-data": base64.b64encode(b"no certificate").decode(),
    }
    path = write(tmp_path, user={}, cluster=cluster)

    with pytest.raises(ConfigurationError, match="certificate of the kubeconfig is unusable"):
        api_config.of_kubeconfig(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (": :", "is not valid YAML"),
        ("current-context: gone", "no context named 'gone'"),
    ],
)
def test_an_empty_or_invalid_kubeconfig_is_an_error(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "config").write_text(text)

    with pytest.raises(ConfigurationError, match=words):
        api_config.of_kubeconfig(tmp_path / "config")


def test_a_missing_kubeconfig_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="give --kubeconfig"):
        api_config.load(None, {"KUBECONFIG": str(tmp_path / "none")})


def test_a_pod_whose_account_has_no_token_is_an_error(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}

    with pytest.raises(ConfigurationError, match="automountServiceAccountToken"):
        api_config.of_pod(environment, tmp_path)
