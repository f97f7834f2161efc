"""The encoding of a text file: by its mark, UTF-8, or what chardet finds."""

from __future__ import annotations

import codecs

from compsil_kit._data.files.refused import RefusedError
from compsil_kit._util.format import quoted

_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NUL = "not a readable table: it has NUL characters. If it is UTF-16, pass --encoding utf-16-le."


def known_encoding(encoding: str) -> str:
    """Return an encoding that Python knows, or refuse it."""
    try:
        "a".encode(encoding)
    except LookupError:
        raise RefusedError(
            f"unknown encoding {quoted(encoding)}. Pass --encoding utf-8, windows-1252, utf-16, ..."
        ) from None
    return encoding


def decoded(sample: bytes, encoding: str) -> str:
    """Return a beginning as text; a character may be cut at its end."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError as error:
        line = sample.count(b"\n", 0, error.start) + 1
        raise RefusedError(
            f"not a readable table: line {line} is not {encoding}. Pass another --encoding, or leave it out."
        ) from None
    if "\0" in text:
        raise RefusedError(_NUL)
    return text


def find_encoding(sample: bytes) -> str:
    """Return the encoding: by its mark, UTF-8 if the sample is that, else what chardet finds."""
    for mark, name in _BOMS.items():
        if sample.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return _guessed(sample)
    if b"\0" in sample:
        raise RefusedError(_NUL)
    return "utf-8"


def _guessed(sample: bytes) -> str:
    import chardet

    # Lines of plain numbers say nothing, and lead chardet astray.
    telling = b"\n".join(dict.fromkeys(line for line in sample.splitlines() if not line.isascii()))
    found = chardet.detect(telling[: 1 << 16])["encoding"]
    try:
        if found and "\0" not in sample.decode(found, "ignore"):
            codecs.getincrementaldecoder(found)().decode(sample)
            return found.lower()
    except (LookupError, UnicodeDecodeError):
        pass
    raise RefusedError("not a readable table: the encoding is unknown. Pass --encoding, for example windows-1252.")
