"""Options of a write: defaults, and what is refused."""

from __future__ import annotations

import pickle

import pytest

from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.sink.write_options import WriteOptions, write_options

GIVEN = {"nameServer": "n1:9876", "topic": "T"}


def made(*, is_stream: bool = False, **given: str) -> WriteOptions:
    return write_options({**GIVEN, **given}, is_stream=is_stream, environment={})


def test_streams_are_idempotent_and_batches_with_a_sink_id() -> None:
    assert made(is_stream=True).is_idempotent
    assert made(sinkId="job-1").is_idempotent
    assert not made().is_idempotent
    assert not made(is_stream=True, delivery="at-least-once").is_idempotent


def test_the_options_travel() -> None:
    options = made(is_stream=True, maxInFlight="9", rateLimit="100")
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301 - our own
    assert options.limits.max_in_flight == 9
    assert options.limits.messages_per_second == 100
    assert options.settings().name_servers == ("n1:9876",)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"delivery": "idempotent"}, "needs the option sinkId"),
        ({"sinkId": "a b"}, "option sinkId='a b'"),
        ({"sinkId": "x" * 65}, "1 to 64 letters"),
        ({"topic": "A,B"}, "one topic to a write"),
        ({"maxInFlight": "0"}, "option maxInFlight='0'"),
    ],
)
def test_invalid_write_options_are_refused(given: dict[str, str], text: str) -> None:
    with pytest.raises(RocketMQOptionError, match=text):
        write_options({**GIVEN, **given}, is_stream=False, environment={})
