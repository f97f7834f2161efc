"""Calls that mypy must accept, and calls marked with "type: ignore" that it must reject.

An unused "type: ignore" is also an error.
"""

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from compsil_kit import (
    CompositeSilhouette,
    SelectionConfig,
    compare,
    label_rows,
    plan_selection,
    select_k,
    silhouettes,
    stream,
)

X = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]})

best: int = select_k(X, ks=[2, 3], rule="lcb", clusterer=KMeans(), n_jobs="auto", sample_size=0.5).best_k
select_k(X, ks=3, transform=lambda x: x, metric=lambda x, y: 0.0, progress=print, checkpoint="run.json")
config: SelectionConfig = SelectionConfig(ks=range(2, 5), criterion="stable").changed(rule="max")
fitted: int = CompositeSilhouette(ks=[2], on_failure="skip").fit(X).best_k_
seconds: float = plan_selection(X, criterion="stable", n_subsamples="auto").estimate_seconds()
for result in stream(X, rule="max"):
    best = result.reweigh(criterion="micro").best_k
choices: dict[str, int | None] = compare(X, criteria=["gap"]).choices
for labels in label_rows(X, 3, clusterer="gmm"):
    labels.sum()
codes = np.array([0, 1])
score: float = silhouettes(X, codes).micro + silhouettes(X, [0, 1]).micro + silhouettes(X, X["a"]).micro
scores: list[float] = [each.micro for each in silhouettes(X, [["a", "b"], ["b", "a"]], metric="cosine")]
scores += [each.micro for each in silhouettes(X, [codes, codes])]

select_k(X, rule="maxx")  # type: ignore[arg-type]
select_k(X, clusterer=3)  # type: ignore[arg-type]
select_k(X, n_subsamples="many")  # type: ignore[arg-type]
select_k(X, on_failure="ignore")  # type: ignore[arg-type]
select_k(X).reweigh(criterion="best")  # type: ignore[arg-type]
select_k(X).plot("curves")  # type: ignore[arg-type]
select_k(X, n_clusters=3)  # type: ignore[call-arg]
stream(X, rule="maxx")  # type: ignore[arg-type]
plan_selection(X, clusterer=3)  # type: ignore[arg-type]
compare(X, transform="tanh")  # type: ignore[call-arg]
label_rows(X, 3, ks=[2])  # type: ignore[call-arg]
SelectionConfig(rule="maxx")  # type: ignore[arg-type]
CompositeSilhouette(rule="maxx")  # type: ignore[arg-type]
