"""Tests the numbers of the protocol against what real peers sent."""

from __future__ import annotations

import json
from enum import IntEnum
from pathlib import Path

import pytest

from gantrymq.wire.codes import LanguageCode, RequestCode, ResponseCode

TRAFFIC = Path(__file__).parents[2] / "vectors" / "traffic-5.3.3.json"


def test_every_recorded_request_is_known_by_its_name() -> None:
    recorded = {
        (entry["request"]["code"], entry["name"]) for entry in json.loads(TRAFFIC.read_text())
    }
    assert recorded
    assert {(code, RequestCode(code).name) for code, _ in recorded} == recorded


@pytest.mark.parametrize("codes", [LanguageCode, RequestCode, ResponseCode])
def test_no_two_names_share_a_number(codes: type[IntEnum]) -> None:
    assert len(codes.__members__) == len(set(codes))


def test_languages_are_numbered_without_a_gap() -> None:
    assert [int(language) for language in LanguageCode] == list(range(14))


def test_only_requests_of_pops_and_lite_topics_do_not_fit_into_a_binary_header() -> None:
    too_large = {code.name for code in RequestCode if code > 0x7FFF}
    assert len(too_large) == 18
    assert {"POP_MESSAGE", "ACK_MESSAGE", "BATCH_ACK_MESSAGE"} < too_large
