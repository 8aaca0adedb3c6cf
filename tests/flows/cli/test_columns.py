"""Rows fit the terminal, whatever is in them; where there is none, nothing is lost."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from turngraph.flows.cli.columns import Column, print_columns

from .showing import Screen

WORDS = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=60)
TABLES = st.integers(0, 4).flatmap(
    lambda rows: st.lists(
        st.builds(
            Column,
            st.text("ABCDEF", min_size=1, max_size=8),
            st.lists(WORDS, min_size=rows, max_size=rows),
            st.booleans(),
            st.booleans(),
        ),
        min_size=1,
        max_size=6,
    )
)


@given(TABLES)
def test_piped_everything_is_there(columns: list[Column]) -> None:
    out = io.StringIO()
    print_columns(columns, out)
    lines = out.getvalue().split("\n")
    for column in columns:
        assert column.head in lines[0]
        for line, cell in zip(lines[1:], column.cells, strict=False):
            assert cell.rstrip() in line


@given(TABLES, st.integers(20, 120))
def test_what_may_go_or_shrink_makes_it_fit(columns: list[Column], width: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        out = Screen()
        fixed = Column("ID", ["1234"] * len(columns[0].cells))
        free = [Column(one.head, one.cells, may_go=True, may_shrink=one.may_shrink) for one in columns]
        print_columns([fixed, *free], out)
    lines = out.getvalue().splitlines()
    assert len(lines) == 1 + len(fixed.cells)
    assert all(line.startswith(("ID", "1234")) and cell_len(line) <= width for line in lines)
