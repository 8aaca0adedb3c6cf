"""A workspace, and a session about it from which a small model sees how to answer and how tools are called."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import anyio
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from turngraph import Outcome, Store, run_turn, workspace_toolset

from ..scripted.harness import Workbench

FILES = {
    "docs/guide.md": "# Guide\n",
    "src/loan.py": "def lend(days: int) -> int:\n    return days  # TODO: skip public holidays\n",
    "tests/test_loan.py": "from loan import lend\n",
}


@dataclass(frozen=True)
class Example:
    """A request and its answer, after the call of a tool where one is named."""

    prompt: str
    answer: str
    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


EXAMPLES = (
    Example("name three colours", "Red, green and blue."),
    Example("list the files in docs", "docs holds guide.md.", "list_dir", {"path": "docs"}),
    Example("name three numbers", "One, two and three."),
    Example("search for FIXME in tests", "There is no FIXME.", "grep", {"pattern": "FIXME", "path": "tests"}),
    Example("search for import in src", "There is no import.", "grep", {"pattern": "import", "path": "src"}),
)


def teach(bench: Workbench) -> str:
    """Fill the workspace, and store a session in which each example is a finished turn; its id."""
    for name, text in FILES.items():
        bench.write(name, text)
    return anyio.run(_play, bench)


async def _play(bench: Workbench) -> str:
    with Store.open(bench.store_path) as store:
        session = store.create_session(str(bench.workspace))
        for number, example in enumerate(EXAMPLES):
            result = await run_turn(
                example.prompt,
                model=FunctionModel(stream_function=_Script(example, f"example-{number}")),
                toolsets=[workspace_toolset(bench.workspace)],
                store=store,
                session=session,
                workdir=bench.workspace,
            )
            assert result.outcome is Outcome.COMPLETED, result.error
    return session


class _Script:
    """A model that plays one example."""

    def __init__(self, example: Example, call_id: str) -> None:
        self._replies: list[str | DeltaToolCalls] = [example.answer]
        if example.tool is not None:
            call = DeltaToolCall(example.tool, json.dumps(example.arguments), tool_call_id=call_id)
            self._replies.append({0: call})

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[str | DeltaToolCalls]:
        yield self._replies.pop()
