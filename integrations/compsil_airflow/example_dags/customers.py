"""Synthetic customer data for the example DAGs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# The scheduler and the workers must share this folder.
FOLDER = Path(os.environ.get("COMPSIL_EXAMPLES", Path(tempfile.gettempdir()) / "compsil-examples"))


def make_customers(seed: int = 7, size: float = 1.0) -> pd.DataFrame:
    """Return a table with four types of customers, two of them rare, in two regions."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(seed)
    counts = [int(size * n) for n in (700, 450, 90, 60)]
    n = sum(counts)
    return pd.DataFrame(
        {
            "customer_id": rng.permutation(n) + 1000,
            "basket": np.repeat([35, 60, 210, 90], counts) * rng.lognormal(0, 0.12, n),
            "visits": np.repeat([3, 12, 6, 4], counts) * rng.lognormal(0, 0.12, n),
            "returned": np.repeat([0.05, 0.08, 0.02, 0.55], counts) + rng.normal(0, 0.02, n),
            "region": rng.choice(["north", "south"], n),
        }
    )


def write_customers(name: str, frame: pd.DataFrame | None = None) -> str:
    """Write customers to the example folder and return the path; the file extension determines the format."""
    frame = make_customers() if frame is None else frame
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return str(path)
