"""Data sets from the local folder or public sources, and errors for data sets that are unavailable in both."""

import io
import types
import urllib.error
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from benchmarks.paper import data, online
from benchmarks.paper.protocols import AUTHORS, SEEDS, candidates


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPSIL_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("key", ["Pks", "Bld", "Nsg"])
def test_unavailable_data_set_raises_missing_data(key, folder, monkeypatch):
    def refuse(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(online.urllib.request, "urlopen", refuse)
    monkeypatch.setattr(online, "fetch_openml", refuse)
    monkeypatch.setattr(online, "fetch_20newsgroups", refuse)
    with pytest.raises(data.MissingData, match=r"not in the local folder.*no network"):
        data.SETS[key].load("published")


def test_missing_package_is_named(folder, monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(online.importlib, "import_module", absent)
    with pytest.raises(data.MissingData, match="the package datasets is not installed"):
        data.SETS["Mds"].load("written")


def test_wrong_number_of_rows_and_missing_folder_raise(folder, monkeypatch):
    monkeypatch.setattr(online, "fetch_openml", lambda **_: types.SimpleNamespace(data=pd.DataFrame(np.ones((9, 5)))))
    with pytest.raises(data.MissingData, match="9 rows instead of 748"):
        data.SETS["Bld"].load("published")
    np.savez(folder / "blood.npz", X=np.ones((40, 4)))
    with pytest.raises(ValueError, match=r"^blood\.npz .* 40 rows instead of 748") as caught:
        data.SETS["Bld"].load("published")
    assert str(folder) not in str(caught.value)
    monkeypatch.setenv("COMPSIL_DATA", str(folder / "nowhere"))
    with pytest.raises(NotADirectoryError, match="COMPSIL_DATA must be a folder"):
        data.SETS["Pks"].load("published")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (PermissionError(13, "Permission denied", "/home/me/scikit_learn_data"), "[Errno 13] Permission denied: …"),
        (ConnectionError("HTTPSConnectionPool(host='proxy', port=80): refused\n by 10.0.0.1:80"), "… … refused by …"),
    ],
)
def test_messages_contain_no_paths_or_hosts(error, message):
    with pytest.raises(online.Unavailable) as caught, online.source_errors("OpenML 44"):
        raise error
    assert str(caught.value) == f"OpenML 44: {message}"


def test_local_folder_takes_precedence_for_published_and_written_forms(folder):
    X = np.random.default_rng(0).normal(5, 2, size=(data.ROWS["blood"], 3))
    np.savez(folder / "blood.npz", X=X)
    np.testing.assert_allclose(data.SETS["Bld"].load("published"), (X - X.mean(0)) / X.std(0))
    n = data.ROWS["newsgroups"]
    np.savez(folder / "newsgroups.npz", X=np.ones((n, 4)), X50=np.ones((n, 2)))
    assert data.SETS["Nsg"].load("written").shape == (n, 4)
    assert data.SETS["Nsg"].load("published").shape == (n, 2)
    assert data.SETS["Dgt"].load("published").shape == (1797, 49)
    np.testing.assert_array_equal(data.SETS["Dgt"].load("written"), load_digits().data)


def zipped(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


def test_uci_archives_are_parsed(monkeypatch):
    bank = 'age;job;balance;day;duration;campaign;pdays;previous;y\n30;"x";1;2;3;4;5;6;"no"\n'
    archives = {
        "174": zipped("parkinsons.data", "name,a,status,b\nx,1.5,1,2\ny,3,0,4\n"),
        "372": zipped("HTRU_2.csv", "1,2,3,4,5,6,7,8,0\n"),
        "222": zipped("bank.zip", zipped("bank-full.csv", bank)),
    }
    monkeypatch.setattr(
        online.urllib.request, "urlopen", lambda url, timeout: io.BytesIO(archives[url.split("/public/")[1][:3]])
    )
    assert online.parkinsons().tolist() == [[1.5, 2], [3, 4]]
    assert online.htru2().tolist() == [[1, 2, 3, 4, 5, 6, 7, 8]]
    assert online.bank().tolist() == [[30, 1, 2, 3, 4, 5, 6]]


@pytest.mark.parametrize(
    ("key", "shape"),
    [("S1", (10_000, 2)), ("S2", (10_000, 2)), ("S3", (2_300, 2)), ("S4", (4_090, 2)), ("Wne", (178, 13))],
)
def test_generated_and_bundled_sets_are_standardised(key, shape):
    X = data.SETS[key].load("written")
    assert X.shape == shape
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_candidates_contain_the_true_k_and_seeds_do_not_overlap():
    assert set(AUTHORS) == set(data.SETS)
    for key, (n_subsamples, _, ks) in AUTHORS.items():
        assert data.SETS[key].k in ks
        assert data.SETS[key].k in candidates(data.SETS[key].k)
        # Subsample b uses the seed s + b.
        assert n_subsamples <= SEEDS[1] - SEEDS[0]
