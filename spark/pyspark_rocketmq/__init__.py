"""The format `rocketmq` of Spark, where Spark looks for it: in a module called `pyspark_…`.

Spark imports every such module at the first use of any format it does not know. So this one imports
next to nothing: what reads and writes is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    """`format("rocketmq")`. Spark makes one in several processes of each query."""

    @classmethod
    def name(cls) -> str:
        """As in `format`."""
        return "rocketmq"

    def schema(self) -> StructType:
        """The columns of a read for which the user gives no schema."""
        from gantrymq.spark.options import read_options  # noqa: PLC0415 - see above
        from gantrymq.spark.source.row_schema import schema_of_options  # noqa: PLC0415

        return schema_of_options(
            read_options.column_names(self.options),
            properties_as_json=read_options.properties_are_json(self.options),
        )

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads a batch."""
        from gantrymq.spark.options.read_options import batch_options  # noqa: PLC0415
        from gantrymq.spark.source.batch_reader import (  # noqa: PLC0415
            BatchReader,
            FilteringBatchReader,
        )

        options = batch_options(self.options)
        kind = FilteringBatchReader if options.filter_pushdown else BatchReader
        return kind(options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Reads a stream."""
        from gantrymq.spark.options.read_options import stream_options  # noqa: PLC0415
        from gantrymq.spark.source.stream_reader import StreamReader  # noqa: PLC0415

        return StreamReader(stream_options(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Writes a batch."""
        from gantrymq.spark.sink.writers import BatchWriter  # noqa: PLC0415

        return BatchWriter(self.options, schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Writes one micro-batch of a stream."""
        from gantrymq.spark.sink.writers import StreamWriter  # noqa: PLC0415

        return StreamWriter(self.options, schema, overwrite=overwrite)
