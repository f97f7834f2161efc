"""Arrays that are read in chunks; those of Zarr and h5py are tested where these are."""

import numpy as np
import pytest
from tables import LARGE, columns_of

from compsil_kit import select_k
from compsil_kit._data.sources import chunked
from compsil_kit._data.sources.chunked import ChunkedSource
from compsil_kit._data.sources.opening import open_source

FAST = {"ks": [2, 3], "n_subsamples": 2, "sample_size": 200}
MATRIX = np.column_stack(list(columns_of().values()))


class Dataset:
    """What h5py has, as far as it is used: ranges of rows can be asked for, and it remembers which."""

    __module__ = "h5py._hl.dataset"

    def __init__(self, values, chunks):
        self._values, self.chunks, self.asked = values, chunks, []
        self.shape, self.dtype = values.shape, values.dtype

    def __getitem__(self, rows):
        self.asked.append((rows.start, min(rows.stop, len(self._values))))
        return self._values[rows]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", ">f4"])
@pytest.mark.parametrize("chunks", [(1_000, 3), (700, 1), None])
def test_a_selection_is_that_of_the_array_in_memory(dtype, chunks, monkeypatch):
    monkeypatch.setattr(chunked, "STEP_BYTES", 100_000)
    matrix = (10 * MATRIX).astype(dtype)
    array = Dataset(matrix, chunks)
    result = select_k(array, **FAST)
    assert result.to_dict() == select_k(matrix, **FAST).to_dict()
    assert result.preparation is None
    # Each row once, and no chunk by halves.
    edges = [edge for edge, _ in array.asked]
    assert array.asked == list(zip(edges, [*edges[1:], LARGE], strict=True))
    assert len(edges) > 3
    assert all(edge % (chunks or (1,))[0] == 0 for edge in edges)


def test_chunks_larger_than_a_step_are_read_one_at_a_time(monkeypatch):
    monkeypatch.setattr(chunked, "STEP_BYTES", 1)
    array = Dataset(MATRIX[:100], (40, 3))
    assert len(list(ChunkedSource(array).chunks([0]))) == 3
    assert array.asked == [(0, 40), (40, 80), (80, 100)]


def test_some_columns():
    ((two, zero),) = ChunkedSource(Dataset(MATRIX[:100], (40, 3))).chunks([2, 0])
    np.testing.assert_array_equal(np.column_stack([two, zero]), MATRIX[:100, [2, 0]])


@pytest.mark.parametrize("shape", [(5,), (5, 2, 2), ()])
def test_other_shapes_are_refused(shape):
    with pytest.raises(
        ValueError, match=r"X must have two dimensions, rows and columns; got an array of h5py of shape"
    ):
        open_source(Dataset(np.ones(shape), None))


def test_what_is_not_numeric_is_refused():
    with pytest.raises(ValueError, match="X has columns that are not numeric: 0 "):
        select_k(Dataset(np.array([["a", "b"]]), None))
