"""Copy the figures of docs/benchmarks.md to the README: ``python -m benchmarks.readme``."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"

SELECTION = "complete selection, N = {n}, d = 10, k = 2..10, B = {b}, {how}"
NINE = "silhouettes of nine labellings, m = 6,000, d = 10, float64, one thread, compiled"
MEMORY = "extra peak memory of silhouettes, m = 30,000, d = 10, one labelling"
WORKERS = ("one worker", "two threads", "two processes")
SELECTIONS = (("10,000", 10), ("2,000", 20))

Cells = dict[str, tuple[str, str, str]]


def read_table(text: str) -> Cells:
    """Return the values for the peer and for compsil-kit, and their ratio, by task."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: (row[2], row[3], row[4]) for row in rows[1:] if len(row) == 6}


def table_rows(table: Cells) -> dict[str, str]:
    """Return the measured cells in the README's comparison, keyed by the beginning of their row."""
    found = {}
    for n, b in SELECTIONS:
        rows = {how: table[SELECTION.format(n=n, b=b, how=how)] for how in WORKERS}
        ours = ", ".join(f"{rows[how][1]} ({how})" for how in WORKERS)
        found[f"| complete selection, {n} rows |"] = f" {ours} | {rows['one worker'][0]} (two processes) | – |"
    found["| nine silhouettes of 6,000 rows, 10 features |"] = f" {table[NINE][1]} | – | {table[NINE][0]} |"
    found["| extra memory, 30,000 rows |"] = f" {table[MEMORY][1]} | – | {table[MEMORY][0]} |"
    return found


def speed_range(table: Cells) -> str:
    """Format the smallest and the largest speed ratio in the README's comparison."""
    tasks = [SELECTION.format(n=n, b=b, how=how) for n, b in SELECTIONS for how in WORKERS]
    ratios = [float(table[task][2]) for task in [*tasks, NINE]]
    return f"{min(ratios):.0f} to {max(ratios):.0f} times as fast"


def with_figures(readme: str, table: Cells) -> str:
    """Return the README with the figures from the table."""
    for begin, rest in table_rows(table).items():
        readme, n = re.subn(rf"^{re.escape(begin)}.*$", lambda _, line=begin + rest: line, readme, flags=re.MULTILINE)
        assert n == 1, f"README has no line that begins with {begin!r}"
    return re.sub(r"\d+ to \d+ times as fast", speed_range(table), readme)


def main() -> None:
    README.write_text(with_figures(README.read_text(), read_table(TABLE.read_text())))


if __name__ == "__main__":
    main()
