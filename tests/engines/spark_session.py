"""Start a local Spark session, and stop its Java process."""

from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.sql import SparkSession
from waiting import PATIENCE

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}


@contextmanager
def spark_session(master, **settings):
    session = SparkSession.builder.master(master).config(map=QUIET | settings).getOrCreate()
    yield session
    gateway = session.sparkContext._gateway
    session.stop()
    # The Java process would keep running for the next session, so close its input and wait for its end.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(PATIENCE)
    SparkContext._gateway = SparkContext._jvm = None
