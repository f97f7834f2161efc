"""Environment variables that the engines need on import: IP address, Python interpreter and authentication."""

import os
import secrets
import sys

os.environ.update(
    PYSPARK_PYTHON=sys.executable,
    SPARK_LOCAL_IP="127.0.0.1",
    # Ray listens on all network interfaces, so a random token for this run protects it from other users.
    RAY_AUTH_MODE="token",
    RAY_AUTH_TOKEN=secrets.token_hex(32),
    RAY_USAGE_STATS_ENABLED="0",
    NO_PROXY="127.0.0.1,localhost",
)
