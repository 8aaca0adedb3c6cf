from __future__ import annotations

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from turngraph.tools import output
from turngraph.tools.output import Output, clean


@given(st.lists(st.binary(max_size=20_000), max_size=12))
def test_what_is_kept_and_what_is_counted_add_up(chunks: list[bytes]) -> None:
    data = b"".join(chunks)
    kept = Output()
    for chunk in chunks:
        kept.add(chunk)
        assert len(kept.head) + len(kept.tail) <= output.HEAD_BYTES + 2 * output.TAIL_BYTES + len(chunk)
    limit = output.HEAD_BYTES + output.TAIL_BYTES
    if len(data) <= limit:
        assert kept.text() == clean(data)
    else:
        left_out = re.search(r"\n\[… ([\d,]+) bytes of output left out …\]\n", kept.text())
        assert left_out
        assert 0 <= int(left_out[1].replace(",", "")) - (len(data) - limit) <= 6
        assert clean(data[: output.HEAD_BYTES]).startswith(kept.text()[: left_out.start()])
        assert clean(data[-output.TAIL_BYTES :]).endswith(kept.text()[left_out.end() :])


@given(st.binary(max_size=400))
def test_cleaned_output_is_printable_text(data: bytes) -> None:
    text = clean(data)
    json.dumps(text).encode()
    assert not set(text) & {chr(code) for code in range(32) if chr(code) not in "\n\t"}


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=100))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert clean(text.encode()) == text


@given(st.text("aé€😀", min_size=1, max_size=30), st.integers(0, 3))
@settings(deadline=None)
def test_a_character_cut_in_two_is_left_out_whole(piece: str, shift: int) -> None:
    """T4-11: what is left out begins and ends between characters, and every byte is counted."""
    data = b"x" * shift + (piece * (40_000 // len(piece))).encode()
    output = Output()
    for start in range(0, len(data), 4_093):
        output.add(data[start : start + 4_093])
    shown = output.text()
    assert "\\x" not in shown
    head, middle, tail = shown.split("\n")
    left_out = int(re.sub(r"\D", "", middle))
    assert len(head.encode()) + left_out + len(tail.encode()) == len(data)
    assert data.startswith(head.encode())
    assert data.endswith(tail.encode())
