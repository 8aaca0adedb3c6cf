from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, Optional, TypeVar, Union

import pytest
from pydantic_graph import Edge, End
from turngraph import nodes
from turngraph.flows.flow import STANDARD, Flow
from turngraph.graphs.declarations import misdeclared
from turngraph.graphs.declared import END, DeclaredEdge, declared_edges
from turngraph.graphs.rules import check
from turngraph.nodes.errors import UsageError
from turngraph.nodes.node import Ctx, TurnNode
from turngraph.nodes.outcome import TurnResult
from turngraph.nodes.state import AgentState
from typing_extensions import TypeAliasType

from .castings import Bare, Lost, Silent, ToCritic, Wrong

if TYPE_CHECKING:
    from decimal import Decimal as ForCheckersOnly

T = TypeVar("T")
Onwards = TypeAliasType("Onwards", Annotated[nodes.ProcessNode, Edge("on")] | nodes.Persist)


@dataclass
class Node(TurnNode):
    role = "stream"
    state = AgentState.ASSISTANT

    async def run(self, ctx: Ctx) -> Any:
        return None


@dataclass
class Parametrised(Node, Generic[T]):
    role = "parametrised"


class Unioned(Node):
    async def run(self, ctx: Ctx) -> Union[nodes.Persist, Annotated[nodes.Dispatch, Edge("calls")]]:  # noqa: UP007
        return nodes.Persist()


class Aliased(Node):
    async def run(self, ctx: Ctx) -> Onwards:
        return nodes.Persist()


class Grouped(Node):
    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist | nodes.Dispatch, "no label", Edge("either")]:
        return nodes.Persist()


class Generics(Node):
    async def run(self, ctx: Ctx) -> Parametrised[int] | End[TurnResult]:
        return Parametrised()


class OtherHint(Node):
    async def run(self, ctx: ForCheckersOnly) -> nodes.Persist:  # pyright: ignore[reportIncompatibleMethodOverride]
        return nodes.Persist()


class OnlyChecked(Node):
    async def run(self, ctx: Ctx) -> ForCheckersOnly:
        raise NotImplementedError


class Perhaps(Node):
    async def run(self, ctx: Ctx) -> Optional[nodes.Persist]:  # noqa: UP045
        return None


class Unwritten(Node):
    run: Any = None


class Starter(Node):
    role = "start"


def test_edges_are_read_in_the_order_they_are_written() -> None:
    assert declared_edges(nodes.Persist) == (DeclaredEdge("stream", "go on"), DeclaredEdge(END, "done"))
    assert declared_edges(nodes.Stream) == (DeclaredEdge("process_node", "reply received"),)
    assert declared_edges(Bare) == (DeclaredEdge("process_node", None), DeclaredEdge(END, "at once"))


@pytest.mark.parametrize(
    ("cls", "edges"),
    [
        (Unioned, [("persist", None), ("dispatch", "calls")]),
        (Aliased, [("process_node", "on"), ("persist", None)]),
        (Grouped, [("persist", "either"), ("dispatch", "either")]),
        (Generics, [("parametrised", None), (END, None)]),
        (OtherHint, [("persist", None)]),
    ],
)
def test_every_way_to_write_an_annotation_is_read(cls: type[TurnNode], edges: list[tuple[str, str | None]]) -> None:
    assert declared_edges(cls) == tuple(DeclaredEdge(*edge) for edge in edges)


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (Silent, "has no return annotation"),
        (Unwritten, "has no return annotation"),
        (Lost, "cannot be resolved .*Nowhere"),
        (OnlyChecked, "cannot be resolved .*ForCheckersOnly.*not under TYPE_CHECKING"),
        (Wrong, "names Any, which is neither a node with a role nor End"),
        (Perhaps, "names NoneType, which is neither"),
    ],
)
def test_an_annotation_that_says_no_edges_is_a_usage_error(cls: type[TurnNode], words: str) -> None:
    """T8-03: a router without declared targets is none."""
    with pytest.raises(UsageError, match=rf"{cls.__qualname__}\.run.*{words}"):
        declared_edges(cls)


def test_a_role_that_every_graph_has_already_is_refused() -> None:
    with pytest.raises(UsageError, match="Starter has the role 'start'"):
        declared_edges(Starter)


def test_a_node_is_meant_as_a_class_and_not_as_an_instance() -> None:
    """T8-11."""
    made: Any = nodes.Persist()
    with pytest.raises(UsageError, match="an instance of Persist was given where a class is meant; write Persist"):
        declared_edges(made)
    with pytest.raises(UsageError, match="int is no node with a role"):
        declared_edges(int)  # pyright: ignore[reportArgumentType]


def test_all_that_is_wrong_with_a_flows_declarations_is_told_at_once() -> None:
    parts = (nodes.PrepareHistory, Silent, nodes.Stream, ToCritic, nodes.Persist)
    broken = misdeclared(Flow(name="mine", start="nowhere", parts=parts))
    assert [(one.rule, one.nodes) for one in broken] == [
        ("duplicate_role", ("stream",)),
        ("unknown_role", ()),
        ("unknown_role", ("process_node", "critic")),
    ]
    assert broken[0].message == "the role stream has 2 parts, Silent and Stream"
    assert broken[2].message.startswith("process_node (ToCritic) goes on to critic, which is none of the flow's roles:")


def test_a_routing_target_that_is_nowhere_is_refused_before_anything_runs() -> None:
    """T8-04."""
    assert misdeclared(STANDARD) == []
    swapped = Flow(
        name="mine", start=STANDARD.start, parts=STANDARD.parts, swapped={"process_node": ToCritic, "stream": Lost}
    )
    with pytest.raises(UsageError, match=r"breaks 2 rules: unreadable_edges: .*Nowhere.*; unknown_role: .*critic"):
        check(swapped)
