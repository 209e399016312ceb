"""Provides the patience with the API that tests of whole members need."""

from __future__ import annotations

import pytest

from gantrymq.fakes.groups.host_groups import WAIT_SECONDS
from gantrymq.runtime.http import kube_api


@pytest.fixture
def patient_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests to the API wait long: that of a busy machine answers late, and does answer."""
    monkeypatch.setattr(kube_api, "REQUEST_SECONDS", WAIT_SECONDS)
