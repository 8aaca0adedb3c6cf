from __future__ import annotations

from turngraph import nodes
from turngraph.flows.flow import STANDARD
from turngraph.graphs.declared import END
from turngraph.graphs.extract import START, extract
from turngraph.nodes.state import AGENT_STATE_MACHINE

from .castings import Bare


def test_the_standard_flow_as_a_graph() -> None:
    graph = extract(STANDARD)
    assert graph.graph == {"name": "standard", "machine": AGENT_STATE_MACHINE}
    assert list(graph.nodes) == [START, *STANDARD.lineup, END]
    assert dict(graph.nodes["dispatch"]) == {
        "cls": "Dispatch",
        "kind": "node",
        "definition": nodes.Dispatch,
        "state": "tool_execution",
        "doc": "Collect the calls, check names and arguments, ask the policy, and batch what may run.",
    }
    assert list(graph.edges()) == [
        (START, "prepare_history"),
        ("prepare_history", "stream"),
        ("stream", "process_node"),
        ("process_node", "dispatch"),
        ("process_node", "persist"),
        ("dispatch", "execute"),
        ("dispatch", "persist"),
        ("execute", "persist"),
        ("persist", "stream"),
        ("persist", END),
    ]
    assert graph.edges["persist", END, 0]["label"] == "done"


def test_a_variant_shows_its_own_class_and_edges() -> None:
    graph = extract(STANDARD.swap(Bare))
    assert graph.nodes["stream"]["cls"] == "Bare"
    assert graph.edges["stream", END, 0]["label"] == "at once"
    assert graph.edges["stream", "process_node", 0]["label"] is None
