"""Types of ``df.compsil`` and ``explore``, checked by mypy.

``make typecheck`` fails on unexpected errors and on expected errors that do not occur.
"""

from typing import assert_type

import pandas as pd

from compsil_jupyter import Explorer, explore
from compsil_kit import Comparison, SelectionResult
from compsil_pandas import GroupSelection

df = pd.DataFrame({"a": [1.0, 2.0, 9.0], "b": [3.0, 4.0, 5.0], "c": ["x", "x", "y"]})

assert_type(df.compsil.select_k(columns=["a", "b"]).best_k, int)
assert_type(df.compsil.select_k(["a"], ks=range(2, 4), rule="lcb", by=None), SelectionResult)
assert_type(df.compsil.select_k(by="c"), GroupSelection)
assert_type(df.compsil.select_k(by="c")["x"].best_k, int)
assert_type(df.compsil.compare(criteria=["micro"]), Comparison)
assert_type(df.compsil.explore(["a"], criterion="likely"), Explorer)
assert_type(explore(df, scale="auto").result, SelectionResult | None)
df.compsil.cluster(3, clusterer="gmm", random_state=0).value_counts()
df.compsil.cluster(ks=[2, 3], rule="lcb").value_counts()
df.compsil.plot("map", k=3).set_title("three")

df.compsil.select_k(rule="maxx")  # type: ignore[call-overload]
df.compsil.select_k(scale="log")  # type: ignore[call-overload]
df.compsil.select_k(kk=3)  # type: ignore[call-overload]
df.compsil.cluster(3, ks=[2, 3])  # type: ignore[call-overload]
df.compsil.compare(criteria=3)  # type: ignore[arg-type]
df.compsil.plot("pie")  # type: ignore[arg-type]
df.compsil.explore(missing="keep")  # type: ignore[arg-type]
df.compsil.select()  # type: ignore[attr-defined]
explore(df, scale="log")  # type: ignore[arg-type]
