"""Run selections with 200 subsamples and ten seeds on the paper's sets, as a reference for ``n_subsamples="auto"``.

``python -m benchmarks.scale.longest FOLDER`` stores the silhouettes from each selection in a file. After an
interruption, the same command resumes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from tqdm import tqdm

from benchmarks.paper.data import SETS
from compsil_kit import select_k

N_SUBSAMPLES, N_SEEDS = 200, 10


def main() -> None:
    """Run the missing selections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    # STL-10 is not available.
    sets = [each for each in SETS.values() if each.key != "Stl"]
    for seed in range(N_SEEDS):
        for data in tqdm(sets, desc=f"seed {seed}"):
            file = folder / f"{data.name}-{seed}.npz"
            if file.exists():
                continue
            X = np.asarray(data.load("published"), dtype=np.float64)
            ks = range(max(2, data.k - 5), data.k + 6)
            result = select_k(X, ks=ks, n_subsamples=N_SUBSAMPLES, random_state=seed, on_failure="skip")
            silhouettes = {name: getattr(result.trials, name) for name in ("micro", "macro")}
            np.savez(file, ks=np.array(result.ks), k=data.k, **silhouettes)


if __name__ == "__main__":
    main()
