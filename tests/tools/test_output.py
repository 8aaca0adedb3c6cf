from __future__ import annotations

import json

from hypothesis import given
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
        left_out = f"{len(data) - limit:,} bytes of output left out"
        assert left_out in kept.text()
        assert kept.text().startswith(clean(data[: output.HEAD_BYTES]))
        assert kept.text().endswith(clean(data[-output.TAIL_BYTES :]))


@given(st.binary(max_size=400))
def test_cleaned_output_is_printable_text(data: bytes) -> None:
    text = clean(data)
    json.dumps(text).encode()
    assert not set(text) & {chr(code) for code in range(32) if chr(code) not in "\n\t"}


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=100))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert clean(text.encode()) == text
