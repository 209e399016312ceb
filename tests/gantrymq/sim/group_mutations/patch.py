"""Provides the one patch of this process, which ends with the process."""

from typing import Final

import pytest

PATCH: Final = pytest.MonkeyPatch()
