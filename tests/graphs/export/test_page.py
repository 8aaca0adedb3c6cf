from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st
from turngraph.flows.flow import STANDARD
from turngraph.graphs.export import render
from turngraph.graphs.extract import extract, inner_nodes

from .hostile import NAMES, TEXTS, hostile

VOID = {"meta", "path", "polygon", "ellipse", "polyline"}


class Reader(HTMLParser):
    """What a browser finds: elements that are open, ids, and where the page would go for more."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    return reader


def test_the_page_needs_nothing_else_and_tells_of_every_node() -> None:
    page = render(extract(STANDARD), "html")
    reader = read(page)
    assert reader.links == []
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/)", page)
    assert "default-src 'none'" in page
    for number, role in enumerate(STANDARD.lineup, 1):
        assert {f"n{number}", f"about-n{number}"} <= set(reader.ids)
        doc = (STANDARD.lineup[role].__doc__ or "").strip()
        assert doc in reader.text
        assert re.search(rf"turngraph\.nodes\.{role}:\d+", reader.text)
    assert 'data-node="n6 n2"' in page


def test_what_a_node_was_seen_to_write_is_told() -> None:
    graph = extract(STANDARD)
    graph.nodes["stream"]["writes"] = ("reply", "iteration")
    assert "<dt>seen to write</dt><dd><code>reply</code>, <code>iteration</code></dd>" in render(graph, "html")


@settings(max_examples=15, deadline=None)
@given(names=st.lists(TEXTS, min_size=1, max_size=4))
def test_no_name_can_break_the_page(names: list[str]) -> None:
    graph = hostile(names)
    reader = read(render(graph, "html"))
    assert reader.tags.count("section") == len(inner_nodes(graph))
    assert "img" not in reader.tags


def test_every_hostile_name_is_only_text() -> None:
    reader = read(render(hostile(), "html"))
    assert (reader.tags.count("script"), reader.tags.count("section")) == (1, len(NAMES))
    assert "</script><img src=x>" in reader.text
