"""Finds the Kubernetes API and its credentials, from the pod's environment or a kubeconfig.

In a pod, the kubelet replaces the service account's token and authority while the pod runs, so the
token is read for each request. A kubeconfig is read once.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import yaml

from gantrymq.base.errors import ConfigurationError
from gantrymq.runtime.http.kube_api import ACCOUNT, place_of_pod

Token = Callable[[], str]


@final
@dataclass(frozen=True, slots=True)
class ApiConfig:
    """One API server and the identity towards it."""

    url: str
    tls: ssl.SSLContext | None = None
    """None for an address without TLS."""
    token: Token | None = None
    """Returns the current bearer token; None if a client certificate is used, or nothing."""
    namespace: str = "default"
    """The namespace of the pod, or of the kubeconfig's context."""


def of_pod(environment: Mapping[str, str], account: Path = ACCOUNT) -> ApiConfig:
    """Return the API of the cluster of this pod. Raises ConfigurationError outside of a pod."""
    place = place_of_pod(environment, account)
    context = ssl.create_default_context(cafile=str(account / "ca.crt"))
    namespace = account / "namespace"
    return ApiConfig(
        place.url,
        context,
        lambda: (account / "token").read_text().strip(),
        namespace.read_text().strip() if namespace.is_file() else "default",
    )


def load(kubeconfig: str | None, environment: Mapping[str, str] = os.environ) -> ApiConfig:
    """Load the named kubeconfig, else the pod's API, else KUBECONFIG or ~/.kube/config."""
    if kubeconfig:
        return of_kubeconfig(Path(kubeconfig))
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return of_pod(environment)
    path = environment.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())
    return of_kubeconfig(Path(path.split(os.pathsep)[0]))


# ---------------------------------------------------------------------- kubeconfig

# Any: the sections of a kubeconfig are YAML mappings of mixed values.
_Section = dict[str, Any]


def of_kubeconfig(path: Path) -> ApiConfig:
    """Load the current context of a kubeconfig. Raises ConfigurationError if it is unusable."""
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigurationError(
            f"the kubeconfig {path} cannot be read: {error.strerror}; give --kubeconfig, or run the"
            " operator in a pod"
        ) from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f"the kubeconfig {path} is not valid YAML: {error}") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"the kubeconfig {path} is empty")
    context = _named(content, "contexts", "context", content.get("current-context", ""), path)
    cluster = _named(content, "clusters", "cluster", context.get("cluster", ""), path)
    user = _named(content, "users", "user", context.get("user", ""), path)
    for method in ("exec", "auth-provider"):
        if method in user:
            raise ConfigurationError(
                f"the kubeconfig {path} gets its credentials from a program ({method}), which the"
                " operator does not start: use a kubeconfig with a token or a client certificate"
            )
    url = str(cluster.get("server", "")).rstrip("/")
    return ApiConfig(
        url,
        _tls(cluster, user, path.parent) if url.startswith("https:") else None,
        _token(user, path.parent),
        context.get("namespace") or "default",
    )


def _named(content: _Section, section: str, key: str, name: str, path: Path) -> _Section:
    for entry in content.get(section) or ():
        if entry.get("name") == name:
            return entry.get(key) or {}
    raise ConfigurationError(f"the kubeconfig {path} has no {key} named {name!r} in {section}")


def _token(user: _Section, folder: Path) -> Token | None:
    if user.get("tokenFile"):
        file = folder / user["tokenFile"]
        return lambda: file.read_text().strip()
    token = user.get("token")
    return None if not token else lambda: str(token)


def _tls(cluster: _Section, user: _Section, folder: Path) -> ssl.SSLContext:
    try:
        authority = _content(cluster, "certificate-authority", folder)
        context = ssl.create_default_context(
            cadata=None if authority is None else authority.decode()
        )
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate = _content(user, "client-certificate", folder)
        key = _content(user, "client-key", folder)
        if certificate is not None and key is not None:
            _load_pair(context, certificate, key)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigurationError(f"a certificate of the kubeconfig is unusable: {error}") from error
    return context


def _content(section: _Section, name: str, folder: Path) -> bytes | None:
    """Return the bytes of a `<name>-data` field, or of the file that `<name>` names."""
    data = section.get(f"{name}-data")
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise ConfigurationError(f"{name}-data of the kubeconfig is not base64") from error
    file: Final = section.get(name)
    return (folder / file).read_bytes() if file else None


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a key pair from a temporary file that only this user may read, because `ssl` reads key
    pairs from files only."""
    with tempfile.NamedTemporaryFile(prefix="gantry-") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)
