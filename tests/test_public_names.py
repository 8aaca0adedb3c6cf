"""The package's public surface, name by name."""

from __future__ import annotations

import subprocess
import sys

import pytest
import turngraph
from turngraph import testing

PUBLIC = [
    "Abort",
    "AgentState",
    "Allow",
    "AskFirst",
    "Auto",
    "CallRequest",
    "CallStatus",
    "CallbackPolicy",
    "CallbackSink",
    "ContextOverflow",
    "Ctx",
    "Departure",
    "Effect",
    "Event",
    "Flow",
    "FlowError",
    "IllegalState",
    "Interrupt",
    "JsonlSink",
    "Limits",
    "MemorySink",
    "NullSink",
    "Outcome",
    "Policy",
    "ProviderError",
    "ReadOnly",
    "Refuse",
    "Replayed",
    "STANDARD",
    "SessionBusy",
    "Sink",
    "SinkError",
    "StateMachine",
    "Store",
    "StoreError",
    "Tee",
    "ToolDenied",
    "Trees",
    "TurnAborted",
    "TurnNode",
    "TurnResult",
    "TurngraphError",
    "UndeclaredTransition",
    "UnknownSession",
    "UsageError",
    "__version__",
    "cached",
    "create_model",
    "declare",
    "event_json",
    "events",
    "fork_turn",
    "go",
    "replay_turn",
    "resume_turn",
    "run_turn",
    "workspace_toolset",
]


def test_the_public_names_are_these() -> None:
    assert sorted(turngraph.__all__) == sorted(PUBLIC)
    assert set(PUBLIC) <= set(dir(turngraph))


@pytest.mark.parametrize("name", PUBLIC)
def test_each_name_resolves_and_says_what_it_is(name: str) -> None:
    value = getattr(turngraph, name)
    assert value is getattr(turngraph, name)
    if isinstance(value, type):
        assert (value.__doc__ or "").strip()


def test_an_unknown_name_is_an_attribute_error() -> None:
    unknown = "nothing"
    with pytest.raises(AttributeError, match="module 'turngraph' has no attribute 'nothing'"):
        getattr(turngraph, unknown)


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import turngraph; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "turngraph" in done.stdout.split()
    assert not {"pydantic_ai", "pydantic", "typer", "anyio"} & set(done.stdout.split())


def test_what_is_public_for_tests_of_variants_is_this() -> None:
    assert sorted(testing.__all__) == [
        "Boundary",
        "NodeContract",
        "Reply",
        "SCRIPTS",
        "Script",
        "ScriptedModel",
        "Stage",
        "walk",
        "written_by",
    ]
    values = [getattr(testing, name) for name in testing.__all__]
    assert all((value.__doc__ or "").strip() for value in values if isinstance(value, type))
