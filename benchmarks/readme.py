"""The README's figures, from the table in docs/benchmarks.md: ``python -m benchmarks.readme`` writes them anew.

One run measures them all, and nothing is copied by hand.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"

SELECTION = "whole selection, N = {n}, d = 10, ks 2..10, B = {b}, {how}"
NINE = "silhouettes of nine labelings, m = 6,000, d = 10, float64, one thread, compiled"
MEMORY = "extra peak memory of silhouettes, m = 30,000, d = 10, one labeling"
WAYS = ("one worker", "two threads", "two processes")

Cells = dict[str, tuple[str, str, str]]


def read_table(text: str) -> Cells:
    """Return what they take, what we take and the ratio, by the work that was measured."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: (row[2], row[3], row[4]) for row in rows[1:] if len(row) == 6}


def lines(table: Cells) -> dict[str, str]:
    """Return the lines of the README's comparison that hold figures, by how they begin."""
    found = {}
    for n, b in (("10,000", 10), ("2,000", 20)):
        rows = {how: table[SELECTION.format(n=n, b=b, how=how)] for how in WAYS}
        ours = ", ".join(f"{rows[how][1]} ({how})" for how in WAYS)
        found[f"| whole selection, {n} rows |"] = f" {ours} | {rows['one worker'][0]} (two processes) | – |"
    found["| nine silhouettes of 6,000 points, 10 features |"] = f" {table[NINE][1]} | – | {table[NINE][0]} |"
    found["| extra memory, 30,000 points |"] = f" {table[MEMORY][1]} | – | {table[MEMORY][0]} |"
    return found


def speed(table: Cells) -> str:
    """Return the smallest and the largest of the ratios that the README's comparison shows."""
    works = [SELECTION.format(n=n, b=b, how=how) for n, b in (("10,000", 10), ("2,000", 20)) for how in WAYS]
    ratios = [float(table[work][2]) for work in [*works, NINE]]
    return f"{min(ratios):.0f} to {max(ratios):.0f} times as fast"


def written(readme: str, table: Cells) -> str:
    """Return the README with the figures of the table."""
    for begin, rest in lines(table).items():
        readme, n = re.subn(rf"^{re.escape(begin)}.*$", lambda _, line=begin + rest: line, readme, flags=re.MULTILINE)
        assert n == 1, f"README has no line that begins with {begin!r}"
    return re.sub(r"\d+ to \d+ times as fast", speed(table), readme)


def main() -> None:
    README.write_text(written(README.read_text(), read_table(TABLE.read_text())))


if __name__ == "__main__":
    main()
