"""Calls that mypy rejects, each for its own reason; an unused comment would be an error as well."""

import pandas as pd

from compsil_kit import CompositeSilhouette, SelectionConfig, compare, label_rows, plan_selection, select_k, stream

X = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]})

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
