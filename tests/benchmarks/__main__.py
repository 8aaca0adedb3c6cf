"""Measures turngraph against its peers and prints a table of ratios: `python -m tests.benchmarks --help`."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from . import at_once, journal, keeping, loop, opening, searching, start_up
from .table import Row, markdown

ROUNDS = 9


def main() -> int:
    """The exit code: 0 when every target is met, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measure turngraph by its peers.")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="the median is taken of so many (default: 9)")
    parser.add_argument("--files", type=int, default=searching.FILES, help="files of the tree that grep searches")
    measures: dict[str, Callable[[int, Path], Iterator[Row]]] = {
        "loop": loop.rows,
        "opening": opening.rows,
        "journal": journal.rows,
        "keeping": keeping.rows,
        "at_once": at_once.rows,
        "start_up": start_up.rows,
        "searching": searching.rows,
    }
    parser.add_argument("only", nargs="*", metavar="BENCHMARK", help=f"some of {', '.join(measures)} (default: all)")
    chosen = parser.parse_args()
    unknown = set(chosen.only) - set(measures)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; choose from {', '.join(measures)}")
    measures["searching"] = partial(searching.rows, files=chosen.files)
    rows: list[Row] = []
    with TemporaryDirectory() as directory:
        for name in chosen.only or measures:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows += measures[name](chosen.rounds, Path(directory))
    print(
        f"Median of {chosen.rounds}; pydantic-ai {version('pydantic-ai-slim')}, Python {platform.python_version()}.\n"
    )
    print(markdown(rows))
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
