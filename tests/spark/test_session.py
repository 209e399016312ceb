"""A session that `configure` made has what the format wants, and real Spark knows each setting."""

from __future__ import annotations

import pyspark
import pytest
from pyspark.sql import SparkSession

from gantrymq.spark.session import CONFIGURATION

pytestmark = pytest.mark.newest_spark


def test_the_jvm_is_of_the_version_that_python_imports(spark: SparkSession) -> None:
    """PYTHONPATH chooses both."""
    assert spark.version == pyspark.__version__


def test_a_configured_session_has_every_setting(spark: SparkSession) -> None:
    assert {setting.name: spark.conf.get(setting.name) for setting in CONFIGURATION} == {
        setting.name: setting.value for setting in CONFIGURATION
    }


def test_spark_knows_the_settings_of_its_sql_part(spark: SparkSession) -> None:
    """A setting that a version of Spark renamed would be taken in silence."""
    names = [each.name for each in CONFIGURATION if each.name.startswith("spark.sql.")]
    assert [name for name in names if not spark.conf.isModifiable(name)] == []


def test_rows_pass_through_python_workers(spark: SparkSession) -> None:
    doubled = spark.range(10).rdd.map(lambda row: row.id * 2)
    assert doubled.sum() == 90
