"""The line of a magic as words: split at spaces outside brackets and quotes, the quotes kept."""

from __future__ import annotations

import re

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
# A quoted string, a quote that is never closed with all that follows, or a single character.
_ATOM = re.compile(rf"""{_QUOTED}|['"].*|.""", re.DOTALL)


def scan(line: str) -> tuple[list[str], str]:
    """Return the words, the last one empty after a space, and the bracket or quote that is missing at the end, if any.

    A word that starts with ``#`` begins a comment.
    """
    words, closing = [""], [""]
    for atom in _ATOM.findall(line):
        if atom == "#" and not words[-1] and not closing[-1]:
            break
        if atom.isspace() and not closing[-1]:
            words += [""] if words[-1] else []
            continue
        words[-1] += atom
        if atom in _CLOSING:
            closing.append(_CLOSING[atom])
        elif atom == closing[-1]:
            closing.pop()
        elif atom[0] in "'\"" and not is_quoted(atom):
            return words, atom[0]
    return words, closing[-1]


def split_commas(word: str) -> list[str]:
    """Split a word at commas outside quotes."""
    parts = [""]
    for atom in _ATOM.findall(word):
        if atom == ",":
            parts.append("")
        else:
            parts[-1] += atom
    return parts


def is_quoted(word: str) -> bool:
    """Tell whether a word as a whole stands in quotes."""
    return re.fullmatch(_QUOTED, word, re.DOTALL) is not None


def unquote(word: str) -> str:
    r"""Return a word without the quotes around it; inside them, \' and \" stand for the quote itself."""
    return re.sub(r"""\\(['"])""", r"\1", word[1:-1]) if is_quoted(word) else word
