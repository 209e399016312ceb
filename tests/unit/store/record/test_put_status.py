"""Tests the response codes of all outcomes of a put, and the refusals of a failing disk."""

from __future__ import annotations

from gantrymq.base.disk import DiskError, DiskFailure
from gantrymq.store.record.put_status import PutStatus, disk_refused
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import ResponseCode


def test_full_disk_is_reported_with_path_usage_and_need() -> None:
    disk = MemoryDisk(total_bytes=1 << 20)
    disk.create("big").allocate(0, 1 << 20)
    error = DiskError(DiskFailure.NO_SPACE, "allocate", "commitlog/0")
    refused = disk_refused(error, disk, "", 77)
    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert refused.text.startswith("service not available now. It may be caused by one of the")
    assert "[CL: 1.00] 1048576 of 1048576 bytes are used, 0 are free" in refused.text
    assert "77 more" in refused.text


def test_other_failures_are_reported_with_the_text_of_the_system() -> None:
    error = DiskError(DiskFailure.BROKEN, "write", "commitlog/0", "Input/output error")
    refused = disk_refused(error, MemoryDisk(), "", 77)
    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "write commitlog/0: Input/output error" in refused.text


def test_every_status_has_a_response_code() -> None:
    codes = {status: status.response_code for status in PutStatus}
    assert codes[PutStatus.PROPERTIES_SIZE_EXCEEDED] is ResponseCode.MESSAGE_ILLEGAL
    stored = {int(codes[status]) for status in PutStatus if status.is_stored}
    assert stored == {0, 10, 11, 12}
