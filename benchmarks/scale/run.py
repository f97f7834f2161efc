"""Measure run time and memory by number of rows, and write docs/scale.md: ``python -m benchmarks.scale.run``.

Every measurement runs in a new process. A method that is too slow for one size is skipped for larger sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from benchmarks.measure import machine
from benchmarks.scale.report import write_page
from benchmarks.scale.tables import K, rows, write

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results" / "scale.json"
SIZES = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
# Time in seconds above which a method is skipped for larger sizes, and the time limit for a measurement.
SKIP_SECONDS, TIMEOUT_SECONDS = 300, 600
KINDS = ("parquet", "memory", "scikit-learn", "spark")
# Number of measurements, of which the best is reported; the other methods take minutes and are measured once.
ROUNDS = {"parquet": 3, "memory": 3}


def measure(kind: str, place: Path) -> dict[str, Any] | None:
    """Return the measurement from a new process, or None if it exceeds the time limit."""
    python = ROOT / ".venv-engines" / "bin" / "python" if kind == "spark" else Path(sys.executable)
    command = [str(python), "-m", "benchmarks.scale.work", kind, str(place)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYSPARK_PYTHON": str(python)}, timeout=TIMEOUT_SECONDS, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def best_silhouettes() -> dict[int, float]:
    """Return the best mean silhouettes for k-means with the true number of clusters and with one cluster fewer."""
    X = rows(SIZES[0])
    return {k: float(silhouette_score(X, KMeans(k, n_init=20, random_state=0).fit_predict(X))) for k in (K - 1, K)}


def main() -> None:
    """Run the measurements for all sizes, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="folder for the tables (default: a temporary folder)")
    parser.add_argument("--most-rows", type=int, default=SIZES[-1])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        found: dict[str, Any] = {"machine": machine(), "silhouettes": best_silhouettes(), "sizes": {}}
        active = set(KINDS)
        for size in [size for size in SIZES if size <= options.most_rows]:
            place = write(folder, size)
            found["sizes"][str(size)] = row = {}
            for kind in KINDS:
                if kind not in active:
                    continue
                runs = [measure(kind, place) for _ in range(ROUNDS.get(kind, 1))]
                best = min((run for run in runs if run is not None), key=lambda run: run["seconds"], default=None)
                if best is None or best["seconds"] > SKIP_SECONDS:
                    active.discard(kind)
                if best is not None:
                    row[kind] = best
                print(f"{size:>11,} rows, {kind}: {best}", flush=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    write_page()


if __name__ == "__main__":
    main()
