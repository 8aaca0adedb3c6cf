"""turngraph: a coding agent whose turn is a declarative graph.

Every public name is here and is loaded when it is first used: `import turngraph` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .flows.callbacks import CallbackPolicy, CallbackSink, ToolDenied
    from .flows.flow import STANDARD, Flow
    from .flows.fork import fork_turn
    from .flows.interrupt import Interrupt
    from .flows.journal.recorded import Departure
    from .flows.model_cache import cached
    from .flows.models import create_model
    from .flows.replay import Replayed, replay_turn
    from .flows.resume import resume_turn
    from .flows.runner import run_turn
    from .flows.sinks import JsonlSink, MemorySink, NullSink, Tee, event_json
    from .flows.store import Store
    from .flows.trees import Trees
    from .nodes import events
    from .nodes.deps import Limits
    from .nodes.errors import (
        ContextOverflow,
        FlowError,
        IllegalState,
        ProviderError,
        SessionBusy,
        SinkError,
        StoreError,
        TurnAborted,
        TurngraphError,
        UndeclaredTransition,
        UnknownSession,
        UsageError,
    )
    from .nodes.events import Event, Sink
    from .nodes.node import Ctx, TurnNode, go
    from .nodes.outcome import Outcome, TurnResult
    from .nodes.slots import CallStatus
    from .nodes.state import AgentState, StateMachine
    from .tools.effects import Effect, declare
    from .tools.policy import Abort, Allow, AskFirst, Auto, CallRequest, Policy, ReadOnly, Refuse
    from .tools.toolset import workspace_toolset

__version__ = "0.1.0"

__all__ = [
    "STANDARD",
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

_HOMES = {
    ".flows.callbacks": ("CallbackPolicy", "CallbackSink", "ToolDenied"),
    ".flows.flow": ("Flow", "STANDARD"),
    ".flows.fork": ("fork_turn",),
    ".flows.interrupt": ("Interrupt",),
    ".flows.journal.recorded": ("Departure",),
    ".flows.model_cache": ("cached",),
    ".flows.models": ("create_model",),
    ".flows.replay": ("Replayed", "replay_turn"),
    ".flows.resume": ("resume_turn",),
    ".flows.runner": ("run_turn",),
    ".flows.sinks": ("JsonlSink", "MemorySink", "NullSink", "Tee", "event_json"),
    ".flows.store": ("Store",),
    ".flows.trees": ("Trees",),
    ".nodes.deps": ("Limits",),
    ".nodes.errors": (
        "ContextOverflow",
        "FlowError",
        "IllegalState",
        "ProviderError",
        "SessionBusy",
        "SinkError",
        "StoreError",
        "TurnAborted",
        "TurngraphError",
        "UndeclaredTransition",
        "UnknownSession",
        "UsageError",
    ),
    ".nodes.events": ("Event", "Sink"),
    ".nodes.node": ("Ctx", "TurnNode", "go"),
    ".nodes.outcome": ("Outcome", "TurnResult"),
    ".nodes.slots": ("CallStatus",),
    ".nodes.state": ("AgentState", "StateMachine"),
    ".tools.effects": ("Effect", "declare"),
    ".tools.policy": ("Abort", "Allow", "AskFirst", "Auto", "CallRequest", "Policy", "ReadOnly", "Refuse"),
    ".tools.toolset": ("workspace_toolset",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "events":
        value: Any = import_module(".nodes.events", __name__)
    elif name in _HOME:
        value = getattr(import_module(_HOME[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
