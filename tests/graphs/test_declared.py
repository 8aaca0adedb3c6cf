from __future__ import annotations

import pytest
from turngraph import nodes
from turngraph.graphs.declared import END, DeclaredEdge, declared_edges
from turngraph.nodes.errors import UsageError
from turngraph.nodes.node import TurnNode

from .castings import Bare, Lost, Silent, Wrong


def test_edges_are_read_in_the_order_they_are_written() -> None:
    assert declared_edges(nodes.Persist) == (DeclaredEdge("stream", "go on"), DeclaredEdge(END, "done"))
    assert declared_edges(nodes.Stream) == (DeclaredEdge("process_node", "reply received"),)
    assert declared_edges(Bare) == (DeclaredEdge("process_node", None), DeclaredEdge(END, "at once"))


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (Silent, "has no return annotation"),
        (Lost, "cannot be resolved .*Nowhere"),
        (Wrong, "neither a node with a role nor End"),
    ],
)
def test_an_annotation_that_says_no_edges_is_a_usage_error(cls: type[TurnNode], words: str) -> None:
    with pytest.raises(UsageError, match=rf"{cls.__qualname__}\.run.*{words}"):
        declared_edges(cls)
