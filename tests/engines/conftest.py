"""Where the engines listen and what they tell, set before they are imported: loopback, and nobody."""

import os
import secrets
import sys

os.environ.update(
    PYSPARK_PYTHON=sys.executable,
    SPARK_LOCAL_IP="127.0.0.1",
    # A token of this run: none is written into the home folder, and nobody else may use the cluster.
    RAY_AUTH_MODE="token",
    RAY_AUTH_TOKEN=secrets.token_hex(32),
    RAY_USAGE_STATS_ENABLED="0",
    RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
    NO_PROXY="127.0.0.1,localhost",
)
