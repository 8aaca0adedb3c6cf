from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic_ai.models import Model
from turngraph.flows.flow import STANDARD
from turngraph.flows.named import choose_flow
from turngraph.flows.swap import apply_swaps, never_asked, offered, resolve_swap
from turngraph.graphs.rules import check
from turngraph.nodes.errors import UsageError
from turngraph.nodes.variants import VARIANTS

from ..nodes.acting import Actor

MINE = """
from dataclasses import dataclass
from typing import Annotated

from pydantic_ai.models import Model
from pydantic_graph import Edge
from turngraph import AgentState, Ctx, TurnNode, go, nodes

class Mine(nodes.Execute):
    "Runs calls."

@dataclass
class Greedy(TurnNode):
    role = "process_node"
    state = AgentState.ASSISTANT
    async def run(self, ctx: Ctx) -> Annotated[nodes.Dispatch, Edge("always")]:
        return go(ctx, nodes.Dispatch)

def times(count: int = 2) -> type[Mine]:
    return type(f"Mine{count}", (Mine,), {"__module__": __name__})

def said(text: str) -> type[Mine]:
    if text == "wrong":
        raise ValueError("no such text")
    return type(f"Mine_{text}", (Mine,), {"__module__": __name__})

def asked(model: Model) -> type[Mine]:
    return type(f"Mine_{model.model_name}", (Mine,), {"__module__": __name__})

def two(one: int, other: int) -> type[Mine]: ...
def odd(one: list[int]) -> type[Mine]: ...
def other() -> type[Mine]: ...
value = 3
def no_class(one: int = 1): return 5
"""


@pytest.fixture(autouse=True)
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package that offers variants by entry points; its file."""
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "offering.py").write_text(MINE)
    for name, entries in {
        "first": "mine = offering:Mine\nmany = offering:times\n",
        "second": "many = other:x\n",
    }.items():
        (tmp_path / f"{name}-1.0.dist-info").mkdir()
        (tmp_path / f"{name}-1.0.dist-info/METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (tmp_path / f"{name}-1.0.dist-info/entry_points.txt").write_text(f"[turngraph.nodes]\n{entries}")
    return str(tmp_path / "offering.py")


def name(text: str) -> str:
    return resolve_swap(text, STANDARD, models=never_asked).__qualname__


def test_every_registered_name_is_a_class_that_fits_and_keeps_the_rules() -> None:
    for registered, variant in VARIANTS.items():
        needs = ":offline" if registered == "cascade" else ""
        flow = apply_swaps(STANDARD, [f"{variant.role}={registered}{needs}"], models=never_asked)
        check(flow)
        assert len((flow.lineup[variant.role].__doc__ or "").splitlines()) > 1
        assert flow.graph_hash == STANDARD.graph_hash


def test_a_class_is_found_by_name_entry_point_module_and_file(mine: str) -> None:
    assert name("execute=serial") == "SerialExecute"
    assert name("execute = mine") == "Mine"
    assert name("execute=offering:Mine") == "Mine"
    assert name(f"execute={mine}:Mine") == "Mine"
    assert "mine" in {entry.name for entry in offered()}


def test_a_function_makes_a_class_of_what_is_typed_after_it() -> None:
    assert name("prepare_history=window:3") == "SlidingWindow[3]"
    assert name("prepare_history=window") == "SlidingWindow[10]"
    assert name("stream=best-of:2") == "BestOf[2]"
    assert name("execute=offering:times") == "Mine2"
    assert name("execute=offering:times:5") == "Mine5"
    assert name("execute=offering:said:a:b") == "Mine_a:b"
    assert name("execute=offering:asked:openai:gpt-5-mini") == "Mine_openai:gpt-5-mini"


def test_a_model_is_made_as_the_run_makes_its_own() -> None:
    asked: list[str] = []

    def models(spec: str) -> Model:
        asked.append(spec)
        return Actor()

    assert apply_swaps(STANDARD, ["stream=cascade:ollama:small"], models=models).lineup["stream"].__qualname__ == (
        "Cascade[function:actor]"
    )
    assert asked == ["ollama:small"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("execute", "'execute' is no swap; write ROLE=CLASS"),
        ("=x", "is no swap"),
        ("execute=", "is no swap"),
        ("nothing=serial", "the flow standard has no role 'nothing' to swap; its roles are prepare_history, stream"),
        ("execute=cereal", "no variant 'cereal' for execute; there are dry-run, many, mine, serial, or write module:"),
        ("stream=serial", "serial plays the role 'execute', not 'stream'; write execute=serial"),
        ("execute=serial:3", "serial:3 takes nothing after its name; leave ':3' out"),
        ("execute=many", "several packages offer 'many'; write one of offering:times, other:x"),
        ("stream=best-of:many", "takes a whole number after the colon, not 'many'"),
        ("stream=best-of:1", "best-of:1 cannot be made: the best of 1 needs no choosing"),
        ("stream=cascade", "cascade needs to know more after a colon; write cascade:CHEAP_MODEL"),
        ("execute=offering:said:wrong", "cannot be made: no such text"),
        ("execute=offering:two", "takes 2 arguments; a function that makes a variant takes one"),
        ("execute=offering:other", "takes 0 arguments; a function that makes a variant takes one"),
        ("execute=offering:odd:1", "takes list[int], which cannot be typed"),
        ("execute=offering:value", "is no class and no function that makes one"),
        ("execute=offering:no_class", "5 is no class; a variant of execute is a subclass of TurnNode"),
    ],
)
def test_what_cannot_be_swapped_in_is_said(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_swap(text, STANDARD, models=never_asked)
    assert said in str(caught.value)


def test_one_role_is_swapped_once() -> None:
    with pytest.raises(UsageError, match="execute=serial and execute=dry-run swap the same role; give one of them"):
        apply_swaps(STANDARD, ["execute=serial", "execute=dry-run"])


def test_a_named_flow_is_its_swaps_and_those_typed_win() -> None:
    named = {"careful": ["execute=serial", "stream=best-of:2"]}
    flow = choose_flow("careful", named, ["stream=best-of:4"])
    assert (flow.name, flow.lineup["execute"].__qualname__) == ("careful", "SerialExecute")
    assert flow.lineup["stream"].__qualname__ == "BestOf[4]"
    assert choose_flow("standard", named) is STANDARD
    with pytest.raises(UsageError, match="no flow 'bold'; there are standard, careful, and settings name more"):
        choose_flow("bold", named)
