"""Selections on Zarr and h5py arrays."""

import h5py
import numpy as np
import pytest
import zarr
from tables import columns_of

from compsil_kit import prepare, select_k

FAST = {"ks": [2, 3], "n_subsamples": 2, "sample_size": 200}
MATRIX = np.column_stack(list(columns_of().values()))


@pytest.fixture(params=["zarr", "h5py"])
def stored(request, tmp_path):
    """Return a function that stores a matrix in chunks and opens the stored array."""
    if request.param == "zarr":

        def store(matrix, chunks):
            array = zarr.create_array(tmp_path / "a.zarr", shape=matrix.shape, chunks=chunks, dtype=matrix.dtype)
            array[:] = matrix
            return zarr.open_array(tmp_path / "a.zarr", mode="r")

        yield store
        return
    with h5py.File(tmp_path / "a.h5", "w") as file:
        yield lambda matrix, chunks: file.create_dataset("a", data=matrix, chunks=chunks)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
@pytest.mark.parametrize("chunks", [(7_000, 3), (50_000, 2)])
def test_selections_equal_those_on_the_array_in_memory(stored, dtype, chunks):
    matrix = (10 * MATRIX).astype(dtype)
    array = stored(matrix, chunks)
    assert select_k(array, **FAST).to_dict() == select_k(matrix, **FAST).to_dict()
    scaled = select_k(prepare(array, columns=[2, 0]), **FAST)
    assert scaled.preparation.columns == ("2", "0")
    assert scaled.preparation.scale == "standard"


def test_other_shapes_raise(stored):
    with pytest.raises(
        ValueError, match=r"X must have two dimensions, rows and columns; got an array of (zarr|h5py) of shape"
    ):
        select_k(stored(np.zeros((5, 2, 2)), (5, 2, 2)))


def test_non_finite_values_raise_with_row_and_column(stored):
    matrix = MATRIX.copy()
    matrix[44_000, 1] = np.nan
    with pytest.raises(ValueError, match="X must be finite; it has NaN at row 44000, column 1"):
        select_k(stored(matrix, (5_000, 3)), **FAST)
