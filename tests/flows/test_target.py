from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from turngraph.flows.flow import STANDARD, Flow
from turngraph.flows.target import find_target
from turngraph.graphs.extract import inner_nodes
from turngraph.nodes.errors import UsageError

SHAPES = """
from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated
from pydantic_graph import BaseNode, Edge, End, GraphBuilder, GraphRunContext
from turngraph import STANDARD

print("imported")

@dataclass
class First(BaseNode[None, None, str]):
    async def run(self, ctx: GraphRunContext) -> Annotated[Second, Edge("on")] | End[str]: ...

@dataclass
class Second(BaseNode[None, None, str]):
    async def run(self, ctx: GraphRunContext) -> First: ...

builder = GraphBuilder(output_type=str)
builder.add(builder.node(First), builder.node(Second), builder.edge_from(builder.start_node).to(First))
graph = builder.build()
flow = STANDARD
number = 7
instances = [First(), Second(), First()]

def make():
    print("made")
    return builder.build()

def needy(wanted): return graph
def nothing(): return 3

class Held:
    graph = graph
"""


@pytest.fixture
def shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "shapes_to_draw.py").write_text(SHAPES)
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]
    yield "shapes_to_draw"
    sys.modules.pop("shapes_to_draw", None)


@pytest.mark.parametrize("name", ["graph", "builder", "make", "Held.graph"])
def test_graphs_builders_and_functions_that_make_them(
    shapes: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = find_target(f"{shapes}:{name}", [], {})
    assert inner_nodes(target.graph()) == ["First", "Second"]
    assert target.violations() == []
    assert capsys.readouterr() == ("", "imported\nmade\n" if name == "make" else "imported\n")


def test_flows_by_name_by_place_and_with_swaps(shapes: str) -> None:
    assert find_target(None, [], {}).found is STANDARD
    assert find_target(f"{shapes}:flow", [], {}).found == STANDARD
    named = {"mine": ["execute=serial"]}
    found = find_target("mine", [], named).found
    assert isinstance(found, Flow)
    assert (found.name, found.lineup["execute"].__name__) == ("mine", "SerialExecute")
    swapped = find_target(f"{shapes}:flow", ["execute=serial"], {}).found
    assert isinstance(swapped, Flow)
    assert swapped.lineup["execute"].__name__ == "SerialExecute"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("number", "is a int, which has no graph to draw; name a Flow"),
        ("First", "is First, which has no graph to draw"),
        ("instances", "is a list, which has no graph to draw"),
        ("needy", "is a function that made no graph .*it is called without arguments"),
        ("nothing", "is a int, which has no graph"),
        ("absent", "has no 'absent'"),
        ("graph:7", "has a colon too many"),
    ],
)
def test_what_is_no_graph_is_refused(shapes: str, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find_target(f"{shapes}:{name}", [], {})


def test_a_foreign_graph_has_no_roles_to_swap(shapes: str) -> None:
    with pytest.raises(UsageError, match="has no roles to swap"):
        find_target(f"{shapes}:graph", ["execute=serial"], {})


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no flow 'nope'; there are standard, mine"):
        find_target("nope", [], {"mine": []})
