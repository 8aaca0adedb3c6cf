"""What a turn runs with is open as long as the turn, and what it is made of is what was asked."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from pydantic_ai.models import Model
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset
from turngraph import nodes
from turngraph.flows.equipment import check_flow, equipped
from turngraph.flows.flow import STANDARD
from turngraph.flows.sinks import MemorySink
from turngraph.flows.testing.model import ScriptedModel
from turngraph.nodes.deps import Limits, NothingKnown
from turngraph.nodes.errors import SinkError, StoreError, UsageError
from turngraph.nodes.events import Event, Notice
from turngraph.tools.policy import Auto

from ..nodes.acting import Ledger

pytestmark = pytest.mark.anyio


class Opening(WrapperToolset[Any]):
    """Says when it is opened and closed; the broken one does not open."""

    def __init__(self, said: list[str], *, broken: bool = False) -> None:
        super().__init__(FunctionToolset[Any]())
        self.said = said
        self.broken = broken

    async def __aenter__(self) -> Any:
        if self.broken:
            raise OSError("no such server")
        self.said.append("opened")
        return await super().__aenter__()

    async def __aexit__(self, *args: Any) -> bool | None:
        self.said.append("closed")
        return await super().__aexit__(*args)


class OpeningModel(ScriptedModel):
    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self.said = said

    async def __aenter__(self) -> Model[Any]:
        self.said.append("model opened")
        return await super().__aenter__()

    async def __aexit__(self, *args: Any) -> bool | None:
        self.said.append("model closed")
        return await super().__aexit__(*args)


def asked(limits: Limits | None = None) -> dict[str, Any]:
    return {"policy": Auto(), "limits": limits or Limits(), "instructions": "Be brief."}


async def test_the_model_and_the_toolsets_are_open_inside_and_closed_after() -> None:
    said: list[str] = []
    with suppress(KeyError):
        async with equipped(OpeningModel(said), [Opening(said), Opening(said)], **asked()):
            assert sorted(said) == ["model opened", "opened", "opened"]
            raise KeyError
    assert sorted(said[3:]) == ["closed", "closed", "model closed"]


async def test_what_does_not_open_is_a_usage_error_and_what_did_is_closed() -> None:
    said: list[str] = []
    with pytest.raises(UsageError, match=r"a toolset could not be opened \(OSError: no such server\)"):
        async with equipped(OpeningModel(said), [Opening(said), Opening(said, broken=True)], **asked()):
            raise AssertionError("it is not opened")
    assert said.count("opened") == said.count("closed")
    assert said[-1] == "model closed"


async def test_a_model_that_cannot_be_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        async with equipped("nobody:nothing", [], **asked()):
            pass


async def test_the_port_has_the_instructions_and_limits() -> None:
    limits = Limits(max_tokens=7, context_window=1_000)
    async with equipped(ScriptedModel(), [], **asked(limits)) as equipment:
        port = equipment.port
        assert (port.instructions, port.max_tokens, port.context_window) == ("Be brief.", 7, 1_000)
        assert port.name == "function:scripted"


async def test_each_turns_deps_have_tools_of_their_own_and_no_past_unless_one_is_given() -> None:
    async with equipped(ScriptedModel(), [], tool_deps="mine", **asked()) as equipment:
        one, other = (equipment.deps(STANDARD, Ledger()) for _ in range(2))
        assert one.toolbox is not other.toolbox
        assert (one.tool_deps, one.lineup, one.model) == ("mine", STANDARD.lineup, equipment.port)
        assert isinstance(one.past, NothingKnown)
        past = NothingKnown()
        assert equipment.deps(STANDARD, Ledger(), past).past is past


class Raising:
    def __init__(self, error: Exception) -> None:
        self._error = error

    async def emit(self, event: Event) -> None:
        raise self._error


@pytest.mark.parametrize(("error", "kind"), [(OSError("gone"), SinkError), (StoreError("full"), StoreError)])
async def test_a_sinks_failure_is_told_from_a_tools(error: Exception, kind: type[Exception]) -> None:
    async with equipped(ScriptedModel(), [], sink=Raising(error), **asked()) as equipment:
        with pytest.raises(kind, match=str(error)):
            await equipment.deps(STANDARD, Ledger()).sink.emit(Notice("info", "x"))


async def test_events_reach_the_sink() -> None:
    sink = MemorySink()
    async with equipped(ScriptedModel(), [], sink=sink, **asked()) as equipment:
        await equipment.deps(STANDARD, Ledger()).sink.emit(Notice("info", "x"))
    assert sink.events == [Notice("info", "x")]


def test_a_flow_that_breaks_a_rule_is_refused() -> None:
    class Lost(nodes.Execute):
        state = "nowhere"

    check_flow(STANDARD)
    with pytest.raises(UsageError, match="nowhere"):
        check_flow(STANDARD.swap(Lost))
