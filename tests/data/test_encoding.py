"""The encoding of a text file: by its mark, UTF-8, what chardet finds, or what is said."""

import codecs

import pytest

from compsil_kit._data.files.encoding import decoded, find_encoding, known_encoding
from compsil_kit._data.files.refused import RefusedError

TEXT = "name,größe\nMüller,1.5\nJürgen,2.5\n" * 20


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (b"a,b\n1,2\n", "utf-8"),
        (TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-8-sig"), "utf-8-sig"),
        (TEXT.encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16"),
        (TEXT.encode("utf-32"), "utf-32"),
        # A character may be cut at the end of a sample.
        (TEXT.encode()[: TEXT.encode().rindex(b"\xc3") + 1], "utf-8"),
    ],
)
def test_marks_and_utf_8(sample, expected):
    assert find_encoding(sample) == expected


@pytest.mark.parametrize("encoding", ["cp1252", "iso-8859-1"])
def test_western_europe_is_found(encoding):
    found = find_encoding(TEXT.encode(encoding))
    assert TEXT.encode(encoding).decode(found) == TEXT
    assert found.islower()


def test_nul_characters_are_refused():
    with pytest.raises(RefusedError, match=r"it has NUL characters\. If it is UTF-16, pass --encoding utf-16-le"):
        find_encoding("a,b\n1,2\n".encode("utf-16-le"))


def test_what_nobody_knows_is_refused():
    with pytest.raises(RefusedError, match=r"encoding is unknown\. Pass --encoding"):
        find_encoding(bytes(range(128, 256)) * 4 + b"\x00\x01\xff\xfe")


def test_an_encoding_that_is_said():
    assert known_encoding("latin-1") == "latin-1"
    with pytest.raises(RefusedError, match="unknown encoding 'klingon'"):
        known_encoding("klingon")


def test_text_is_decoded_or_the_line_named():
    assert decoded(TEXT.encode(), "utf-8") == TEXT
    assert decoded(b"a\xc3", "utf-8") == "a"
    with pytest.raises(RefusedError, match=r"line 2 is not utf-8\. Pass another --encoding"):
        decoded(b"a,b\nM\xfcller,2\n", "utf-8")
