"""Makes `format("headrace")` known to Spark.

PySpark imports every top-level package whose name begins with `pyspark_` and registers its
`DefaultSource`: no jar, no package coordinates, no call.
"""

from headrace.spark.data_source import DefaultSource

__all__ = ["DefaultSource"]
