"""Tests what `kubectl gantry rotate-secret` requests, and when it is done."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.ctl import secret_rotation
from gantrymq.operator.ctl.secret_rotation import Progress, RotationError
from gantrymq.operator.resources.cluster.cluster_status import RotationStep

Json = dict[str, Any]


def cluster(asked: str = "", rotation: Json | None = None, **spec: Any) -> Json:
    notes = {"gantrymq.dev/rotate-secret": asked} if asked else {}
    metadata = {"name": "orders", "resourceVersion": "7", "annotations": notes}
    return {"metadata": metadata, "spec": spec, "status": {"secretRotation": rotation}}


def rotation(request: str, step: str) -> Json:
    return {"request": request, "step": step}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (cluster(), ""),
        (cluster("monday"), "monday"),
        (cluster("monday", rotation("monday", "Done")), ""),
        (cluster("monday", rotation("monday", "NewUsed")), "monday"),
        (cluster("tuesday", rotation("monday", "NewUsed")), "monday"),
        (cluster("tuesday", rotation("monday", "Done")), "tuesday"),
        (cluster("", rotation("monday", "OldRemoved")), "monday"),
    ],
)
def test_a_request_is_pending_until_it_is_done(found: Json, expected: str) -> None:
    assert secret_rotation.pending(found) == expected


def test_a_request_is_written_to_the_resource_that_was_read() -> None:
    assert secret_rotation.asking(cluster(), "monday") == {
        "metadata": {
            "resourceVersion": "7",
            "annotations": {"gantrymq.dev/rotate-secret": "monday"},
        }
    }


def test_nothing_is_asked_of_a_paused_cluster() -> None:
    secret_rotation.must_not_be_paused(cluster())
    with pytest.raises(RotationError, match=r"orders is paused.*kubectl patch bc orders"):
        secret_rotation.must_not_be_paused(cluster(paused=True))


def test_progress_is_that_of_the_request_and_tells_what_it_waits_for() -> None:
    found = cluster("monday", rotation("monday", "NewUsed"))
    found["status"]["waits"] = [
        {"what": "rotation of Secret orders-replication", "why": "step 2: not read yet by a"},
        {"what": "StatefulSet x", "why": "y"},
    ]
    assert secret_rotation.progress(found, "monday") == Progress(
        RotationStep.NEW_USED, "rotation of Secret orders-replication: step 2: not read yet by a"
    )
    assert secret_rotation.progress(found, "tuesday").step is None
    assert secret_rotation.progress(cluster("monday"), "monday") == Progress(None, "")
    assert secret_rotation.progress(cluster("m", rotation("m", "Done")), "m").is_done
