"""Provides long timeouts of API requests for tests of whole members."""

from __future__ import annotations

import pytest

from gantrymq.fakes.groups.host_groups import WAIT_SECONDS
from gantrymq.runtime.http import kube_api


@pytest.fixture
def patient_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests to the API have long timeouts, because the API of a busy machine answers late."""
    monkeypatch.setattr(kube_api, "REQUEST_SECONDS", WAIT_SECONDS)
