"""Writes and reads the two formats of an archive: Parquet files, or a Delta table.

    PATH/topic=…/day=…/batch=…/*.parquet      day is the UTC date of storeTimestamp
    PATH/_archive/<query>.json                how far each streaming query has archived
    PATH/_checkpoint                          the streaming query's checkpoint

Readers ignore names that begin with an underscore. `batch` names the query and its micro-batch, so
writing a micro-batch again replaces only what its first attempt left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Final, NamedTuple, Protocol, final

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types
from pyspark.sql import DataFrame, DataFrameReader, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark's documents
from pyspark.sql.types import DateType, StringType, StructField, StructType

from gantrymq.spark.columns import spark_schema
from gantrymq.spark.jobs.archiving.files import Files
from gantrymq.spark.jobs.failures import JobError

PARTITIONS: Final = ("topic", "day", "batch")
DELTA_CLASS: Final = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.extensions": DELTA_CLASS,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

SCHEMA: Final = StructType(
    [
        *(field for field in spark_schema().fields if field.name not in PARTITIONS),
        StructField("topic", StringType()),
        StructField("day", DateType()),
        StructField("batch", StringType()),
    ]
)


class Written(NamedTuple):
    """The rows of a batch that a reader finds, None if it had none; and how many were written.

    `expected` is None if that is unknown, because Delta does not write a batch twice."""

    rows: DataFrame | None
    expected: int | None


class ArchiveTable(Protocol):
    """The archive to which micro-batches are written."""

    def write(self, rows: DataFrame, query: str, batch_id: int) -> Written:
        """Write rows with the columns of SCHEMA. Writing a batch again changes nothing."""


def batch_name(query: str, batch_id: int) -> str:
    return f"{query}-{batch_id:08}"


@final
class ParquetTable:
    """An archive of Parquet files. Spark's dynamic partition overwrite makes a batch appear only
    when all of its tasks are done."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path
        self._files = Files(spark, path)

    def write(self, rows: DataFrame, query: str, batch_id: int) -> Written:
        seen = Observation()
        observed = rows.observe(
            seen,
            F.count(F.lit(1)).alias("rows"),
            F.collect_set(F.struct("topic", "day")).alias("places"),
        )
        (
            observed.write.mode("overwrite")
            .option("partitionOverwriteMode", "dynamic")
            .partitionBy(*PARTITIONS)
            .parquet(self._path)
        )
        batch = batch_name(query, batch_id)
        folders = [
            f"{place_folder(self._files, self._path, place['topic'], place['day'])}/batch={batch}"
            for place in seen.get["places"]
        ]
        found = rows_of(self._spark, self._path, folders) if folders else None
        return Written(found, seen.get["rows"])


@final
class DeltaTable:
    """An archive in a Delta table, whose transactions prevent a batch from being written twice."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path

    def write(self, rows: DataFrame, query: str, batch_id: int) -> Written:
        (
            rows.write.format("delta")
            .mode("append")
            .option("txnAppId", query)
            .option("txnVersion", batch_id)
            .partitionBy("topic", "day")
            .save(self._path)
        )
        written = self._spark.read.format("delta").load(self._path)
        return Written(written.where(F.col("batch") == batch_name(query, batch_id)), None)


def archive_table(spark: SparkSession, path: str, table_format: str) -> ArchiveTable:
    """Return the archive in this format. Raises JobError if the jars of Delta are missing."""
    if table_format == "parquet":
        return ParquetTable(spark, path)
    _must_have_delta(spark)
    return DeltaTable(spark, path)


def open_table(spark: SparkSession, path: str, table_format: str) -> DataFrame:
    """Return all rows of an archive. Raises JobError if there is none."""
    if not Files(spark, path).exists(path):
        raise JobError(f"there is no archive at {path}: give the --path of the job archive")
    if table_format == "parquet":
        return _parquet(spark, path).load(path)
    _must_have_delta(spark)
    return spark.read.format("delta").load(path)


def place_folder(files: Files, path: str, topic: str, day: date) -> str:
    return f"{path}/topic={files.escaped(topic)}/day={day.isoformat()}"


def rows_of(spark: SparkSession, path: str, folders: Iterable[str]) -> DataFrame:
    """Return the rows of these folders of a Parquet archive."""
    return _parquet(spark, path).load(list(folders))


def _parquet(spark: SparkSession, path: str) -> DataFrameReader:
    return spark.read.format("parquet").schema(SCHEMA).option("basePath", path)


def _must_have_delta(spark: SparkSession) -> None:
    # The class loader of the context has what --conf spark.jars and spark.jars.packages bring.
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to ask
    assert jvm is not None, "the session runs"
    try:
        jvm.org.apache.spark.util.Utils.classForName(DELTA_CLASS, True, True)
    except Py4JJavaError as error:
        raise JobError(
            "--format delta needs the jars of Delta Lake, which are missing: add --conf"
            " spark.jars=delta-spark.jar,delta-storage.jar of a version for"
            f" Spark {spark.version}, or leave out --format for Parquet"
        ) from error
