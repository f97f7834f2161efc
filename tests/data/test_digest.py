"""A digest tells data apart, whatever their layout, and never loads them whole."""

import numpy as np
import pytest
from scipy import sparse

from compsil_kit._data import digest
from compsil_kit._data.digest import content_digest

X = np.arange(60.0).reshape(20, 3)


def test_equal_content_has_one_digest_whatever_the_layout():
    assert content_digest(np.asfortranarray(X)) == content_digest(X)
    assert content_digest(np.repeat(X, 2, axis=0)[::2]) == content_digest(X)
    # Checkpoints of earlier releases know their data by it.
    assert content_digest(X) == "a496cafa22da0644b5818cbc735b761c"


@pytest.mark.parametrize(
    "other",
    [
        X + 1e-13,
        X[::-1],
        X.astype(np.float32),
        X.view(np.int64),
        X.reshape(30, 2),
        X[:-1],
        X.ravel(),
        sparse.csr_array(X),
    ],
)
def test_other_content_shapes_and_types_have_others(other):
    assert content_digest(other) != content_digest(X)


def test_sparse_data_are_told_by_their_values_and_places():
    one = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
    places = sparse.csr_array(np.array([[0.0, 1.0], [0.0, 2.0]]))
    values = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 3.0]]))
    rows = sparse.csr_array(np.array([[1.0, 2.0], [0.0, 0.0]]))
    assert content_digest(one.copy()) == content_digest(one)
    assert len({content_digest(array) for array in (one, places, values, rows)}) == 4


@pytest.mark.parametrize("size", [1, 24, 25, 10**9])
def test_blocks_of_any_size_give_the_same(size, monkeypatch):
    whole = content_digest(X)
    monkeypatch.setattr(digest, "_BLOCK_BYTES", size)
    assert content_digest(X) == whole


def test_a_file_on_disk_is_read_in_blocks(tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    monkeypatch.setattr(digest, "_BLOCK_BYTES", 5 * X.itemsize * 3)
    assert [len(block) for block in digest._blocks(mapped)] == [5, 5, 5, 5]
    assert content_digest(mapped) == content_digest(X)


def test_numbers_and_nothing_have_digests_too():
    assert content_digest(np.array(3.0)) != content_digest(np.array(4.0))
    assert content_digest(np.empty((0, 3))) != content_digest(np.empty((0, 2)))
