"""Accesses files and folders of an archive through Hadoop: file:, hdfs:, s3a: and others."""

from __future__ import annotations

from typing import Any, Final, final

from pyspark.sql import SparkSession

# The suffix of a file until it is complete.
BESIDE: Final = ".new"


@final
class Files:
    """A file system that Spark's driver can reach. Paths are URLs or absolute paths."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        context = spark.sparkContext
        # Any: objects of the JVM, which py4j makes at run time; the context has both once it runs.
        self._jvm: Any = context._jvm  # noqa: SLF001 - PySpark has no public way to Hadoop
        java: Any = context._jsc  # noqa: SLF001 - as above
        self._system = self._path(root).getFileSystem(java.hadoopConfiguration())

    # Any: as above.
    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(self._path(path)))

    def folders(self, path: str) -> list[str]:
        """Return the names of the folders in a folder; none if it does not exist."""
        return sorted(name for name, is_folder, _ in self._entries(path) if is_folder)

    def sizes(self, path: str) -> dict[str, int]:
        """Return the data files of a folder with their sizes."""
        entries = self._entries(path)
        return {
            name: size
            for name, is_folder, size in entries
            if not is_folder and not name.startswith((".", "_"))
        }

    def names(self, path: str) -> list[str]:
        """Return the names of the files in a folder; none if it does not exist."""
        return sorted(name for name, is_folder, _ in self._entries(path) if not is_folder)

    def _entries(self, path: str) -> list[tuple[str, bool, int]]:
        if not self.exists(path):
            return []
        return [
            (status.getPath().getName(), status.isDirectory(), status.getLen())
            for status in self._system.listStatus(self._path(path))
        ]

    def read(self, path: str) -> str:
        stream = self._system.open(self._path(path))
        try:
            charset = self._jvm.java.nio.charset.StandardCharsets.UTF_8
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, charset))
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        """Write a new file beside the old one, then replace it: one of both is always complete."""
        beside = path + BESIDE
        stream = self._system.create(self._path(beside), True)
        stream.write(bytearray(text.encode()))
        stream.close()
        if self.exists(path):
            self.delete(path)
        self.move(beside, path)

    def move(self, path: str, to: str) -> None:
        """Rename a file or folder. Raises OSError if the file system refuses."""
        target = self._path(to)
        self._system.mkdirs(target.getParent())
        if not self._system.rename(self._path(path), target):
            raise OSError(f"{path} could not be renamed to {to}")

    def delete(self, path: str) -> None:
        """Delete a file or folder with its content, if it exists."""
        self._system.delete(self._path(path), True)

    def escaped(self, value: str) -> str:
        """Return a value of a partition column as Spark writes it into the name of a folder."""
        names = self._jvm.org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
        return str(names.escapePathName(value))
