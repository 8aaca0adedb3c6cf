"""A stamp can be taken off again, whatever the text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turngraph.nodes.history.stamp import stamp, unstamp

NOON = datetime(2026, 11, 30, 12, 5, 9, tzinfo=timezone(timedelta(hours=2)))

zones = st.timedeltas(min_value=timedelta(hours=-23), max_value=timedelta(hours=23)).map(timezone)
times = st.datetimes(timezones=zones)


def test_the_stamp_is_one_line_with_the_zone_the_time_came_with():
    assert stamp("fix it\nnow", NOON) == "[2026-11-30 12:05:09 +0200]\nfix it\nnow"


@given(text=st.text(), at=times)
def test_unstamp_gives_the_text_back(text: str, at: datetime):
    assert unstamp(stamp(text, at)) == text


@given(at=times, earlier=times)
def test_a_text_that_itself_starts_with_a_stamp_survives(at: datetime, earlier: datetime):
    quoted = stamp("as I said", earlier)
    assert unstamp(stamp(quoted, at)) == quoted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "[2026-11-30 12:05:09 +0200] same line",
        " [2026-11-30 12:05:09 +0200]\nindented",
        "[2026-11-30]\nonly a day",
        "[2026-11-30 12:05:09]\nno zone",
        "[٢٠٢٦-11-30 12:05:09 +0200]\nother digits",
        "text first\n[2026-11-30 12:05:09 +0200]\nthen a stamp",
    ],
)
def test_text_without_a_stamp_is_left_alone(text: str):
    assert unstamp(text) == text


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="has none"):
        stamp("text", NOON.replace(tzinfo=None))
    assert stamp("text", datetime(90, 1, 2, tzinfo=UTC)).startswith("[0090-01-02 ")
