"""A swap that cannot be is stopped before a model is asked; one that can be is told first, and runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..scripted.harness import Workbench
from ..scripted.replies import call, calls, say
from ..scripted.server import ScriptedServer

pytestmark = pytest.mark.end_to_end

HEAD = """
from dataclasses import dataclass
from typing import Annotated
from pydantic_graph import BaseNode, Edge, End
from turngraph import AgentState, Ctx, TurnNode, TurnResult, go, nodes

@dataclass
class Outsider(TurnNode):
    role = "outsider"
    state = AgentState.ASSISTANT
    async def run(self, ctx: Ctx) -> Annotated[nodes.Persist, Edge("back")]:
        return go(ctx, nodes.Persist)

class Mine(TurnNode):
    state = AgentState.ASSISTANT
"""
UNSAVED = (
    "process_node",
    """
    role = "process_node"
    async def run(self, ctx: Ctx) -> Annotated[nodes.Dispatch, Edge("calls")] | Annotated[End[TurnResult], Edge("bye")]:
        return go(ctx, nodes.Dispatch)
""",
    ("process_node", "persist", "end"),
)
ENDLESS = (
    "process_node",
    """
    role = "process_node"
    async def run(self, ctx: Ctx) -> (
        Annotated[nodes.Dispatch, Edge("calls")]
        | Annotated[nodes.Persist, Edge("an answer")]
        | Annotated[nodes.Stream, Edge("again")]
    ):
        return go(ctx, nodes.Stream)
""",
    ("stream", "process_node", "persist"),
)
UNDECLARED = (
    "stream",
    """
    role = "stream"
    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply")]:
        return go(ctx, nodes.Persist)
""",
    ("Mine", "goes on to persist", "line 19", "add it to the annotation"),
)
UNKNOWN = (
    "stream",
    """
    role = "stream"
    async def run(self, ctx: Ctx) -> (
        Annotated[nodes.ProcessNode, Edge("reply")] | Annotated[Outsider, Edge("away")]
    ):
        return go(ctx, nodes.ProcessNode)
""",
    ("Mine", "'outsider'", "does not have"),
)
WRONG_TYPES = (
    "stream",
    """
    pass

@dataclass
class Mine(BaseNode[dict, str, int]):
    role = "stream"
    async def run(self, ctx) -> End[int]:
        return End(1)
""",
    ("Mine", "dict and str", "not of TurnState and TurnDeps", "TurnNode"),
)
RAISING = ("stream", "    pass\nraise RuntimeError('no key')", ("variant.py", "RuntimeError: no key", "imported"))


@pytest.mark.parametrize(("role", "body", "words"), [UNSAVED, ENDLESS, UNDECLARED, UNKNOWN, WRONG_TYPES, RAISING])
def test_a_swap_that_cannot_be_is_stopped_before_a_model_is_asked(
    bench: Workbench, server: ScriptedServer, role: str, body: str, words: tuple[str, ...]
) -> None:
    variant = bench.root / "variant.py"
    variant.write_text(HEAD + body)
    done = bench.turn("hi", server, "--swap", f"{role}={variant}:Mine")
    assert (done.code, done.document["outcome"]) == (2, "usage_error"), done.stderr
    (line,) = done.stderr.splitlines()
    assert line == f"turngraph: {done.document['error']['message']}"
    for word in words:
        assert word in line
    assert server.requests == []


def test_a_module_of_the_working_directory_is_not_imported_unasked(bench: Workbench, server: ScriptedServer) -> None:
    (bench.root / "lurking.py").write_text("open('imported', 'w')\n")
    done = bench.turn("hi", server, "--swap", "stream=lurking:Mine")
    assert (done.code, "./lurking.py:" in done.stderr) == (2, True)
    assert not (bench.root / "imported").exists()
    done = bench.turn("hi", server, "--swap", "stream=lurking:Mine", env={"PYTHONPATH": _also(bench.root)})
    assert (done.code, "lurking has no 'Mine'" in done.stderr) == (2, True)
    assert (bench.root / "imported").exists()


def _also(folder: Path) -> str:

    return os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(folder)])


def test_a_swap_is_told_first_and_kept_in_the_document_and_the_journal(
    bench: Workbench, server: ScriptedServer
) -> None:
    server.script.extend([calls(call("list_dir"), call("bash", command="touch made")), say("Done.")])
    done = bench.turn("hi", server, "--swap", "execute=dry-run")
    assert (done.code, done.document["answer"]) == (0, "Done.")
    assert not (bench.workspace / "made").exists()
    played = "turngraph.nodes.variants.dry_run:DryRunExecute"
    said = "changed execute: Execute (turngraph.nodes.execute) -> DryRunExecute (turngraph.nodes.variants.dry_run)"
    assert done.document["notices"][0] == {"level": "info", "text": said}
    assert said in done.stderr.splitlines()[0]
    assert done.document["lineup"]["execute"]["class"] == played
    (head,) = bench.log("setup")
    assert head["lineup"]["execute"] == played
    assert head["sources"]["execute"] == done.document["lineup"]["execute"]["source"]
    assert head["graph_hash"] == done.document["graph_hash"]


def test_settings_of_the_user_name_flows_and_those_of_a_project_do_not(
    bench: Workbench, server: ScriptedServer
) -> None:
    bench.settings.write_text('[flows.careful]\nswap = ["execute=serial", "stream=best-of:2"]\n')
    server.script.extend([say("One."), say("One.")])
    done = bench.turn("hi", server, "--flow", "careful")
    assert (done.code, done.document["flow"], done.document["usage"]["requests"]) == (0, "careful", 2)
    server.script.extend([say("Two.")])
    done = bench.turn("hi", server, "--flow", "careful", "--swap", "stream=cascade:openai:scripted")
    assert (done.code, done.document["answer"]) == (0, "Two.")
    done = bench.turn("hi", server, "--flow", "bold")
    assert (done.code, "no flow 'bold'; there are standard, careful" in done.stderr) == (2, True)
    bench.settings.write_text('[flows.careful]\nswaps = ["execute=serial"]\n')
    done = bench.turn("hi", server, "--flow", "careful")
    assert (done.code, "line 1, column 1: flows.careful.swap is wrong" in done.stderr) == (2, True)
    bench.settings.write_text("")
    bench.write("turngraph.toml", '[flows.careful]\nswap = ["execute=serial"]\n')
    done = bench.turn("hi", server)
    assert (done.code, "flows cannot be set by a project" in done.stderr) == (2, True)
    assert done.stderr.rstrip().endswith("put it into your own settings file")


AGENT = """
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from turngraph import Effect, declare

print("a module may print")
model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url="{url}", api_key="none"))
agent = Agent(model, name="mine", instructions="Be exact.")
modelless = Agent(name="modelless")

@agent.tool_plain(metadata=declare(Effect.READ_ONLY))
def add(a: int, b: int) -> int:
    return a + b
"""


def test_a_turn_goes_through_an_agent_of_the_users(bench: Workbench, server: ScriptedServer) -> None:
    place = bench.root / "mine.py"
    place.write_text(AGENT.replace("{url}", server.base_url))
    server.script.extend([calls(call("add", a=1, b=2)), say("It is 3.")])
    done = bench.run("run", "1 + 2?", "--agent", f"{place}:agent", "--output", "json", "--policy", "read-only")
    assert (done.code, done.document["answer"], done.document["model"]) == (0, "It is 3.", "openai:scripted")
    assert [(one["name"], one["status"]) for one in done.document["tool_calls"]] == [("add", "ok")]
    assert [request.tools for request in server.requests] == [{"add"}, {"add"}]
    assert "Be exact." in str(server.requests[0].messages[0]["content"])
    assert "AgentStream[mine]" in done.stderr
    assert bench.visits() == [
        *("prepare_history", "stream", "process_node", "dispatch", "execute", "persist"),
        *("stream", "process_node", "persist"),
    ]
    for place_of, said in {
        f"{place}:model": "is no pydantic-ai Agent but OpenAIChatModel",
        f"{place}:modelless": "has no model; give it one, or --model",
        "agent": "'agent' is no place of an agent; write module:name",
    }.items():
        done = bench.run("run", "hi", "--agent", place_of)
        assert (done.code, said in done.stderr) == (2, True), done.stderr


def test_a_node_that_leaves_the_program_is_an_internal_error(bench: Workbench, server: ScriptedServer) -> None:
    """Whatever a node raises, the exit code is not its own, the document is whole, and no traceback shows."""
    body = """
    role = "stream"
    async def run(self, ctx: Ctx) -> Annotated[nodes.ProcessNode, Edge("reply")]:
        raise SystemExit(0)
"""
    (bench.root / "leaving.py").write_text(HEAD + body)
    done = bench.turn("hi", server, "--swap", "stream=./leaving.py:Mine")
    assert (done.code, done.document["outcome"]) == (1, "internal_error")
    assert "SystemExit" in done.document["error"]["message"]
    assert "Traceback" not in done.stderr
