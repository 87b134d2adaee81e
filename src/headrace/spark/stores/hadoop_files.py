"""Files on HDFS and its like, through the JVM that Spark has there already.

Object stores answer to the same calls, but a rename copies there: a reader may see half a batch.
"""

from __future__ import annotations

from typing import Any


class HadoopFiles:
    """A file system of Hadoop's; see `Files` for what each operation promises."""

    def __init__(self, spark: Any, path: str) -> None:
        self._jvm = spark._jvm
        self._files = self._path(path).getFileSystem(spark._jsc.hadoopConfiguration())

    def names(self, directory: str) -> list[str]:
        if not self.exists(directory):
            return []
        return sorted(
            row.getPath().getName() for row in self._files.listStatus(self._path(directory))
        )

    def sizes(self, directory: str) -> dict[str, int]:
        root = self._files.makeQualified(self._path(directory)).toUri()
        rows = self._files.listFiles(self._path(directory), True)
        found = {}
        while rows.hasNext():
            row = rows.next()
            if not row.getPath().getName().startswith((".", "_")):
                # The bare path, in which special characters of a partition are not escaped again.
                path = row.getPath().toUri().getPath()
                found[path[len(root.getPath()) :].lstrip("/")] = int(row.getLen())
        return found

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def read(self, path: str) -> str | None:
        if not self.exists(path):
            return None
        stream = self._files.open(self._path(path))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def create(self, path: str, text: str) -> bool:
        parent, _, name = path.rpartition("/")
        draft = self._path(f"{parent}/.{name}.draft")
        stream = self._files.create(draft, True)
        stream.write(bytearray(text.encode()))
        stream.hsync()
        stream.close()
        # HDFS refuses to rename onto a file, in one step; others may not, hence the look.
        if not self.exists(path) and self._files.rename(draft, self._path(path)):
            return True
        self._files.delete(draft, False)
        return False

    def rename(self, source: str, target: str) -> None:
        if not self._files.rename(self._path(source), self._path(target)):
            raise OSError(f"{source} could not be renamed to {target}")

    def make_directory(self, path: str) -> None:
        self._files.mkdirs(self._path(path))

    def delete(self, path: str) -> None:
        self._files.delete(self._path(path), True)

    def sync(self, path: str) -> None:
        """HDFS keeps what was closed."""

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)


def qualified(spark: Any, path: str) -> str:
    """The path with its file system in front, as Spark would understand it."""
    where = spark._jvm.org.apache.hadoop.fs.Path(path)
    files = where.getFileSystem(spark._jsc.hadoopConfiguration())
    return str(files.makeQualified(where).toString())


def rows_of(spark: Any, path: str) -> int:
    """How many rows a Parquet file has; its footer says."""
    parquet = spark._jvm.org.apache.parquet.hadoop
    where = spark._jvm.org.apache.hadoop.fs.Path(path)
    conf = spark._jsc.hadoopConfiguration()
    reader = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(where, conf))
    try:
        return int(reader.getRecordCount())
    finally:
        reader.close()
