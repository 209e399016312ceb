"""Says whether this run includes the image `spark`.

The image takes minutes to build and a gigabyte on each node.
"""

from __future__ import annotations

import os
from typing import Final

IS_WANTED: Final = "1" in (os.environ.get("SPARK"), os.environ.get("GANTRY_E2E_LONG"))
REASON: Final = "the image of Spark is a gigabyte: SPARK=1, or the long run GANTRY_E2E_LONG=1"
