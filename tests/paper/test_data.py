"""Data sets come from the local folder or their source; a missing one is said to be."""

import io
import types
import urllib.error
import zipfile
from unittest import mock

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


@pytest.fixture
def offline(monkeypatch):
    def refuse(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(online.urllib.request, "urlopen", refuse)
    monkeypatch.setattr(online, "fetch_openml", refuse)
    monkeypatch.setattr(online, "fetch_20newsgroups", refuse)


def zipped(files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, inner in files.items():
            archive.writestr(name, inner)
    return content.getvalue()


@pytest.mark.parametrize("key", ["Pks", "Htr", "Bnk", "Bld", "Spm", "Nsg"])
def test_a_set_that_cannot_be_had_is_missing(key, folder, offline):
    with pytest.raises(data.MissingData, match=r"not in the local folder.*out of reach.*no network"):
        data.SETS[key].load("published")


@pytest.mark.parametrize("key", ["Bbc", "Mds", "B77", "Stl"])
def test_a_reader_that_is_not_installed_is_named(key, folder, monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(online.importlib, "import_module", absent)
    with pytest.raises(
        data.MissingData, match=r"the package \S+ is not installed; pip install --group paper brings it"
    ):
        data.SETS[key].load("written")


def test_a_folder_that_is_not_there_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("COMPSIL_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match="COMPSIL_DATA must name a folder"):
        data.SETS["Pks"].load("published")


def test_the_local_folder_comes_first(folder, offline):
    X = np.random.default_rng(0).normal(5, 2, size=(data.ROWS["blood"], 3))
    np.savez(folder / "blood.npz", X=X)
    found = data.SETS["Bld"].load("published")
    np.testing.assert_allclose(found, (X - X.mean(0)) / X.std(0))


def test_a_source_that_has_changed_takes_no_sets_place(folder, monkeypatch):
    monkeypatch.setattr(online, "fetch_openml", lambda **_: types.SimpleNamespace(data=pd.DataFrame(np.ones((9, 5)))))
    with pytest.raises(data.MissingData, match="the public source has changed: 9 rows, not 748"):
        data.SETS["Bld"].load("published")


def test_another_file_takes_no_sets_place(folder):
    np.savez(folder / "blood.npz", X=np.ones((40, 4)))
    with pytest.raises(ValueError, match=r"^blood\.npz in the local folder .* 40 rows, not 748") as caught:
        data.SETS["Bld"].load("published")
    assert str(folder) not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "/home/me/scikit_learn_data"), "[Errno 13] Permission denied: …"),
        (OSError("Tunnel connection failed: 403 Forbidden"), "Tunnel connection failed: 403 Forbidden"),
        (ConnectionError("HTTPSConnectionPool(host='proxy', port=80): refused\n by 10.0.0.1:80"), "… … refused by …"),
    ],
)
def test_what_is_said_of_a_source_names_no_machine(error, said):
    with pytest.raises(online.Unavailable) as caught, online.reached("OpenML 44"):
        raise error
    assert str(caught.value) == f"OpenML 44: {said}"


def test_images_are_kept_where_scikit_learn_keeps_its_data(tmp_path, monkeypatch):
    asked = []

    def images(root, **_):
        asked.append(root)
        raise ConnectionError("no network")

    vision = types.SimpleNamespace(
        models=types.SimpleNamespace(ResNet18_Weights=types.SimpleNamespace(DEFAULT=mock.MagicMock())),
        datasets=types.SimpleNamespace(STL10=images),
    )
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setattr(online, "needed", lambda module: vision)
    with pytest.raises(online.Unavailable, match="no network"):
        online.stl10()
    assert asked == [str(tmp_path)]


def test_both_forms_of_a_set(folder):
    n = data.ROWS["newsgroups"]
    np.savez(folder / "newsgroups.npz", X=np.ones((n, 4)), X50=np.ones((n, 2)))
    assert data.SETS["Nsg"].load("written").shape == (n, 4)
    assert data.SETS["Nsg"].load("published").shape == (n, 2)
    assert data.SETS["Dgt"].load("published").shape == (1797, 49)
    np.testing.assert_array_equal(data.SETS["Dgt"].load("written"), load_digits().data)


def test_uci_files_are_read(monkeypatch):
    inner = zipped(
        {"bank-full.csv": 'age;job;balance;day;duration;campaign;pdays;previous;y\n30;"x";1;2;3;4;5;6;"no"\n'}
    )
    archives = {
        "174": zipped({"parkinsons.data": "name,a,status,b\nx,1.5,1,2\ny,3,0,4\n"}),
        "372": zipped({"HTRU_2.csv": "1,2,3,4,5,6,7,8,0\n"}),
        "222": zipped({"bank.zip": inner}),
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
def test_sets_that_are_always_there(key, shape):
    X = data.SETS[key].load("written")
    assert X.shape == shape
    np.testing.assert_allclose(X.std(axis=0), 1)


def test_every_set_has_settings_and_its_true_k_among_the_candidates():
    assert list(AUTHORS) == [key for key in AUTHORS if key in data.SETS]
    assert set(AUTHORS) == set(data.SETS)
    for key, (n_subsamples, _, ks) in AUTHORS.items():
        assert data.SETS[key].k in ks
        assert data.SETS[key].k in candidates(data.SETS[key].k)
        # Subsample b has the seed s + b: runs of different seeds must not meet.
        assert n_subsamples <= SEEDS[1] - SEEDS[0]
