"""Options as Spark hands them over: any case, aliases, extras of Spark, and what is refused."""

from __future__ import annotations

import pytest

from gantrymq.spark.options import RocketMQOptionError, table
from gantrymq.spark.options.table import OPTIONS, Use
from gantrymq.spark.options.values import OptionValues


def test_option_names_ignore_case_and_have_aliases() -> None:
    assert OptionValues({"NAMESERVER": "n:1"}).get(table.NAME_SERVER) == ("n:1",)
    assert OptionValues({"namesrvaddr": "n:1"}).get(table.NAME_SERVER) == ("n:1",)
    assert OptionValues({"topics": "a,b"}).get(table.TOPIC) == ("a", "b")


def test_two_names_of_one_option_must_agree() -> None:
    same = OptionValues({"topic": "a", "topics": "a"})
    assert same.get(table.TOPIC) == ("a",)
    with pytest.raises(RocketMQOptionError, match="topic, topics are two names"):
        OptionValues({"topic": "a", "topics": "b"}).get(table.TOPIC)


def test_a_missing_option_has_its_default() -> None:
    values = OptionValues({})
    assert values.get(table.SUB_EXPRESSION) == "*"
    assert values.find(table.MIN_PARTITIONS) is None
    with pytest.raises(RocketMQOptionError, match="option topic is missing: give names"):
        values.get(table.TOPIC)


def test_an_invalid_value_is_reported_with_the_allowed_values() -> None:
    with pytest.raises(RocketMQOptionError) as raised:
        OptionValues({"pullbytes": "8g"}).get(table.PULL_BYTES)
    text = str(raised.value)
    assert "pullBytes='8g'" in text
    assert "from 32768 to 4194304" in text


@pytest.mark.parametrize("name", ["accessKey", "secretKey", "securityToken"])
def test_a_secret_is_refused_and_never_repeated(name: str) -> None:
    with pytest.raises(RocketMQOptionError, match="credentialsFile") as raised:
        OptionValues({name: "hunter2"})
    assert "hunter2" not in str(raised.value)


def test_a_misspelt_option_is_refused() -> None:
    with pytest.raises(RocketMQOptionError, match="startingOffsets is probably meant"):
        OptionValues({"startingoffset": "earliest"})


def test_options_that_spark_adds_for_tables_are_ignored() -> None:
    OptionValues({"owner": "root", "provider": "rocketmq", "option.topic": "a", "path": "/x"})


def test_options_exclude_each_other() -> None:
    values = OptionValues({"topic": "a", "assign": '{"t":{"b":[0]}}'})
    with pytest.raises(RocketMQOptionError, match="topic, assign exclude each other"):
        values.at_most_one(table.TOPIC, table.TOPIC_PATTERN, table.ASSIGN)


def test_every_default_is_allowed_and_every_name_is_its_own() -> None:
    names = [name.lower() for option in OPTIONS for name in (option.name, *option.aliases)]
    assert len(names) == len(set(names))
    for option in OPTIONS:
        if option.default is not None:
            option.kind.parse(option.default)


def test_every_use_has_a_description() -> None:
    assert {option.use.text for option in OPTIONS} >= {"all", "read", "stream read", "write"}
    assert Use.BATCH_WRITE.text == "batch write"
