"""What the engines must know before they are imported: where to listen, which Python to run, whom to let in."""

import os
import secrets
import sys

os.environ.update(
    PYSPARK_PYTHON=sys.executable,
    SPARK_LOCAL_IP="127.0.0.1",
    # Ray listens on all interfaces, so nobody else may use it: a token of this run, which leaves no file behind.
    RAY_AUTH_MODE="token",
    RAY_AUTH_TOKEN=secrets.token_hex(32),
    RAY_USAGE_STATS_ENABLED="0",
    NO_PROXY="127.0.0.1,localhost",
)
