"""Selections on Spark Connect DataFrames.

They run in another process, because a process that has used classic Spark cannot start the Connect server.
"""

import json
import subprocess
import sys

from tables import LARGE, columns_of, write_parquet
from waiting import PATIENCE

FAST = {"ks": [2, 3], "n_subsamples": 2, "sample_size": 200}
SCRIPT = """
import json, sys
import joblib, psutil
from joblibspark import register_spark
from pyspark.sql import SparkSession
from compsil_kit import label_rows, prepare, select_k
from compsil_kit._data.sources.source import Work

def fail(*_):
    raise AssertionError("the pass ran on the client")

settings = {
    "spark.connect.grpc.binding.address": "127.0.0.1", "spark.ui.enabled": "false", "spark.log.level": "OFF",
    "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g",
}
builder = SparkSession.builder.remote("local[2]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
frame = spark.read.parquet(sys.argv[1])
table = prepare(frame)
Work.__call__ = fail
fast = json.loads(sys.argv[2])
same = select_k(table, **fast).to_dict() == select_k(prepare(frame.toPandas()), **fast).to_dict()
labelled = sum(len(labels) for labels in label_rows(table, 2, sample_size=200))
children = psutil.Process().children(recursive=True)
listening = [each.laddr.ip for child in children for each in child.net_connections() if each.status == "LISTEN"]
register_spark()
try:
    with joblib.parallel_config(backend="spark", n_jobs=2):
        select_k(frame.toPandas(), **fast)
    message = ""
except RuntimeError as error:
    message = str(error)
print(json.dumps([type(frame).__module__, same, labelled, sorted(set(listening)), message]))
spark.stop()
"""


def test_tables_are_read_and_distributing_subsamples_raises(tmp_path):
    place = write_parquet(tmp_path / "table", columns_of(), n_files=3)
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(place), json.dumps(FAST)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    module, same, labelled, listening, message = json.loads(done.stdout.splitlines()[-1])
    assert module == "pyspark.sql.connect.dataframe"
    assert same
    assert labelled == LARGE
    assert listening
    assert all(address.endswith("127.0.0.1") for address in listening)
    assert message.endswith("or the Spark Connect session has no cluster.")
