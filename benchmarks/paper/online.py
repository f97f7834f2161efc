"""Download the data sets from scikit-learn, OpenML, UCI, Hugging Face and torchvision (STL-10)."""

from __future__ import annotations

import importlib
import io
import re
import urllib.request
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import fetch_20newsgroups, fetch_openml, get_data_home
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

Array = NDArray[Any]
UCI = "https://archive.ics.uci.edu/static/public"
SECONDS = 30
ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
BANK_COLUMNS = ["age", "balance", "day", "duration", "campaign", "pdays", "previous"]


class Unavailable(OSError):
    """A public source is unreachable, or a package that reads it is not installed."""


@contextmanager
def source_errors(source: str) -> Iterator[None]:
    """Convert network errors to Unavailable; errors while parsing data are not converted."""
    try:
        yield
    # Errors and timeouts of urllib, scikit-learn and Hugging Face downloads are OSErrors.
    except OSError as error:
        raise Unavailable(f"{source}: {without_names(str(error))}") from error


def without_names(text: str) -> str:
    """Replace paths, URLs and host names in a message with …, because the message is stored in a committed file."""
    return re.sub(r"\S*[/\\@=.:]\S+", "…", " ".join(text.split()))


def needed(module: str) -> Any:
    """Import a package that only the text and image sets need; raise Unavailable if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.replace("_", "-")
        raise Unavailable(f"the package {package} is not installed; run pip install --group paper") from error


def uci_file(path: str, member: str) -> bytes:
    """Download a file from a UCI archive or from a nested archive (``"outer.zip/inner.csv"``)."""
    url = f"{UCI}/{path}"
    with source_errors(url), urllib.request.urlopen(url, timeout=SECONDS) as response:
        content = response.read()
    return unzip(content, member)


def unzip(content: bytes, member: str) -> bytes:
    """Return a member of a zip file or of nested zip files."""
    for name in member.split("/"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(name)
    return content


def parkinsons() -> Array:
    """UCI "Parkinsons": 195 recordings, 22 measures."""
    frame = pd.read_csv(io.BytesIO(uci_file("174/parkinsons.zip", "parkinsons.data")))
    return frame.drop(columns=["name", "status"]).to_numpy(np.float64)


def htru2() -> Array:
    """UCI "HTRU2": 17,898 pulsar candidates, 8 statistics."""
    frame = pd.read_csv(io.BytesIO(uci_file("372/htru2.zip", "HTRU_2.csv")), header=None)
    return frame.iloc[:, :8].to_numpy(np.float64)


def bank() -> Array:
    """UCI "Bank Marketing", the full file: 45,211 customers, 7 numeric columns."""
    content = uci_file("222/bank+marketing.zip", "bank.zip/bank-full.csv")
    return pd.read_csv(io.BytesIO(content), sep=";")[BANK_COLUMNS].to_numpy(np.float64)


def openml(data_id: int, n_columns: int) -> Array:
    """Download the first columns of an OpenML data set."""
    with source_errors(f"OpenML {data_id}"), warnings.catch_warnings():
        # Without a network, scikit-learn warns about a damaged copy and about retries.
        warnings.simplefilter("ignore")
        frame = fetch_openml(data_id=data_id, as_frame=True, parser="pandas").data
    return np.asarray(frame.iloc[:, :n_columns], dtype=np.float64)


def blood() -> Array:
    """OpenML 1464, "Blood Transfusion Service Center": 748 donors; recency, frequency, monetary, time."""
    return openml(1464, 4)


def spambase() -> Array:
    """OpenML 44, "Spambase": 4,601 messages, 57 frequencies."""
    return openml(44, 57)


def newsgroups(n_components: int) -> Array:
    """20 Newsgroups, training part: TF-IDF without stop words, truncated SVD."""
    with source_errors("20 Newsgroups"):
        documents = fetch_20newsgroups(subset="train", shuffle=True, random_state=42).data
    terms = TfidfVectorizer(stop_words="english").fit_transform(documents)
    return np.asarray(TruncatedSVD(n_components, random_state=0).fit_transform(terms))


def texts(source: str, column: str, splits: Sequence[str], **options: str) -> list[str]:
    """Download a column of a Hugging Face data set, in the order of the splits."""
    datasets = needed("datasets")
    with source_errors(f"Hugging Face {source}"):
        parts = [datasets.load_dataset(source, split=split, **options).select_columns([column]) for split in splits]
    return [text for part in parts for text in part[column]]


def embedded(sentences: Sequence[str], n_components: int, *, unit_length: bool) -> Array:
    """Return the principal components of MiniLM sentence vectors, optionally normalised to unit length."""
    transformers = needed("sentence_transformers")
    with source_errors(ENCODER):
        model = transformers.SentenceTransformer(ENCODER)
    vectors = PCA(n_components, random_state=0).fit_transform(model.encode(list(sentences)))
    return np.asarray(normalize(vectors) if unit_length else vectors)


def bbc() -> Array:
    """BBC News: 2,225 articles."""
    return embedded(texts("SetFit/bbc-news", "text", ("train", "test")), 50, unit_length=False)


def banking77() -> Array:
    """Banking77: 13,083 questions, training part first."""
    return embedded(texts("mteb/banking77", "text", ("train", "test")), 50, unit_length=True)


def minds14(n_components: int) -> Array:
    """MInDS-14, American English: transcriptions without exact duplicates."""
    # Newer versions of datasets do not run this data set's loading script; this branch contains Parquet files.
    sentences = texts("PolyAI/minds14", "transcription", ("train",), name="en-US", revision="refs/convert/parquet")
    return embedded(list(dict.fromkeys(sentences)), n_components, unit_length=True)


def stl10() -> Array:
    """STL-10, training part: 5,000 images as the 512 features of a pretrained ResNet-18."""
    torch, torchvision = needed("torch"), needed("torchvision")
    weights = torchvision.models.ResNet18_Weights.DEFAULT
    with source_errors("STL-10 and ResNet-18"):
        home = get_data_home()
        images = torchvision.datasets.STL10(home, split="train", download=True, transform=weights.transforms())
        network = torchvision.models.resnet18(weights=weights).eval()
    network.fc = torch.nn.Identity()
    with torch.no_grad():
        batches = torch.utils.data.DataLoader(images, batch_size=100)
        return np.concatenate([network(batch).numpy() for batch, _ in batches])
