"""Mutate valid bytes: flip bits, cut, splice, repeat chunks, and insert tokens that confuse parsers."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

TOKENS = (
    b"", b"\0", b'"', b"'", b"\n", b"\r", b"\r\n", b"\t", b",", b";", b":", b"=", b"#", b"-", b"--", b"[", b"]", b"{",
    b"}", b"(", b")", b"\\", b"%", b"$", b"nan", b"NaN", b"inf", b"-Infinity", b"1e999", b"-0.0", b"1e-320", b"null",
    b"none", b"true", b"0", b"-1", b"9" * 30, b"9" * 5000, b"1.234,5", b"1_000", b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3",
    b"\xf0\x9f\x98\x80", b"\xe2\x80\xae", b"\xd9\xa3", b"\x1b[31m", b"range(2, 9)", b"[" * 3000,
)  # fmt: skip


def mutated(seeds: Sequence[bytes], random: Random) -> bytes:
    """Return one of the seed inputs after one to six changes."""
    content = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        content = _changed(content, seeds, random)
    return content


def _changed(content: bytes, seeds: Sequence[bytes], random: Random) -> bytes:
    """Return the content with one random change."""
    at, end = sorted(random.randrange(len(content) + 1) for _ in range(2))
    kind = random.randrange(6)
    if kind == 0 and content:
        bit = random.randrange(8 * len(content))
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        return bytes(flipped)
    if kind == 1:
        return content[:at]
    if kind == 2:
        other = random.choice(seeds)
        return content[:at] + other[random.randrange(len(other) + 1) :]
    if kind == 3:
        # Repeat a chunk.
        return content[:end] + content[at:end][:500] * random.choice((1, 1, 2, 20)) + content[end:]
    if kind == 4:
        return content[:at] + content[min(end, at + 8) :]
    return content[:at] + random.choice(TOKENS) + content[at:]
