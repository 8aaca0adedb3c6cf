from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailedError
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.usage import RunUsage
from turngraph.tools.effects import Effect, effect_of
from turngraph.tools.toolset import workspace_toolset

pytestmark = pytest.mark.anyio

EFFECTS = {
    "read_file": Effect.READ_ONLY,
    "list_dir": Effect.READ_ONLY,
    "glob": Effect.READ_ONLY,
    "grep": Effect.READ_ONLY,
    "write_file": Effect.WRITE,
    "update_file": Effect.WRITE,
    "bash": Effect.EXECUTE,
}


async def manager(root: Path) -> ToolManager[Any]:
    context = RunContext[Any](deps=None, model=TestModel(), usage=RunUsage(), max_retries=1)
    return await ToolManager[Any](workspace_toolset(root)).for_run_step(context)


async def test_each_tool_declares_its_effect_and_describes_its_parameters(root: Path) -> None:
    definitions = (await manager(root)).tool_defs
    assert {d.name: effect_of(d) for d in definitions} == EFFECTS
    for definition in definitions:
        assert definition.description
        for name, schema in definition.parameters_json_schema["properties"].items():
            assert schema.get("description"), f"{definition.name}.{name}"


async def test_every_tool_runs_through_the_tool_manager(root: Path) -> None:
    tools = await manager(root)

    async def call(name: str, **args: Any) -> Any:
        return await tools.handle_call(ToolCallPart(name, args, "id"))

    written = await call("write_file", path="a.py", content="x = 1\n")
    assert written.metadata == {"edited": ["a.py"]}
    assert "x = 1" in await call("read_file", path="a.py")
    assert (await call("update_file", path="a.py", old="1", new="2")).metadata == {"edited": ["a.py"]}
    assert "a.py" in await call("list_dir")
    assert "a.py" in await call("glob", pattern="*.py")
    assert "a.py:1: x = 2" in await call("grep", pattern="x")
    assert "x = 2" in await call("bash", command="cat a.py")


async def test_an_expected_failure_is_a_failed_result_and_no_retry(root: Path) -> None:
    tools = await manager(root)
    for _ in range(3):
        with pytest.raises(ToolFailedError) as failed:
            await tools.handle_call(ToolCallPart("read_file", {"path": "missing"}, "id"))
        assert failed.value.tool_failed.outcome == "failed"
        assert "There is no file missing" in str(failed.value)


async def test_four_edits_of_one_file_in_one_reply_all_land(root: Path) -> None:
    """T5-15, T5-08: calls that run at once through the tool manager, each with its own result."""
    (root / "f").write_text("".join(f"slot {n}: old\n" for n in range(4)))
    tools = await manager(root)
    await tools.handle_call(ToolCallPart("read_file", {"path": "f"}, "read"))
    results: dict[int, Any] = {}

    async def edit(n: int) -> None:
        args = {"path": "f", "old": f"slot {n}: old", "new": f"slot {n}: new"}
        results[n] = await tools.handle_call(ToolCallPart("update_file", args, f"id{n}"))

    async with anyio.create_task_group() as tasks:
        for n in range(4):
            tasks.start_soon(edit, n)
    assert (root / "f").read_text() == "".join(f"slot {n}: new\n" for n in range(4))
    assert all(f"+slot {n}: new" in results[n].return_value for n in range(4))
    await tools.handle_call(ToolCallPart("write_file", {"path": "f", "content": "all of it, known\n"}, "write"))


async def test_what_was_read_is_remembered_by_the_toolset_and_by_no_other(root: Path) -> None:
    (root / "f").write_text("old")
    first, second = await manager(root), await manager(root)
    await first.handle_call(ToolCallPart("read_file", {"path": "f"}, "id"))
    with pytest.raises(ToolFailedError, match="was not read"):
        await second.handle_call(ToolCallPart("write_file", {"path": "f", "content": "new"}, "id"))
    await first.handle_call(ToolCallPart("write_file", {"path": "f", "content": "new"}, "id"))
