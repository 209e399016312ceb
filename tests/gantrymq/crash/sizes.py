"""How many kills and power cuts the crash tests try: CRASH_SIZE=long for more than CI's."""

from __future__ import annotations

import os
from typing import Final

IS_LONG: Final = os.environ.get("CRASH_SIZE") == "long"
FOLDERS: Final = 4 if IS_LONG else 2
KILLS_OF_A_STORE: Final = 50 if IS_LONG else 30
KILLS_OF_A_BROKER: Final = 10 if IS_LONG else 6
POWER_CUTS: Final = 60 if IS_LONG else 40
