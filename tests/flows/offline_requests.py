"""A small project to ask the offline router about, and the calls that answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition
from turngraph.flows.offline import offline_model
from turngraph.flows.offline.identifiers import call_pattern, definition_pattern

TOOLS = ("grep", "glob", "list_dir", "read_file", "bash")
Call = tuple[str, dict[str, Any]]


def plant(root: Path) -> Path:
    """The project, written below `root`."""
    for name, text in {
        "README.md": "# Sample\n\nTODO: say what it is\n",
        "Makefile": "all:\n",
        "my notes.txt": "notes\n",
        "src/app.py": "def parse_config(path):\n    return path  # TODO\n",
        "src/pkg/deep.py": "import app\n",
        "tests/test_app.py": "from app import parse_config\n",
        "docs/guide.md": "a guide\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def offered(*names: str) -> ModelRequestParameters:
    return ModelRequestParameters(function_tools=[ToolDefinition(name=name) for name in names or TOOLS])


async def reply_to(root: Path, *messages: ModelMessage, tools: tuple[str, ...] = TOOLS) -> ModelResponse:
    return await model_request(offline_model(root), messages, model_request_parameters=offered(*tools))


async def call_for(root: Path, said: str) -> Call:
    reply = await reply_to(root, ModelRequest.user_text_prompt(said))
    (call,) = reply.tool_calls
    return call.tool_name, call.args_as_dict()


def grep(pattern: str, path: str = ".") -> Call:
    return "grep", {"pattern": pattern, "path": path}


def ls(path: str = ".") -> Call:
    return "list_dir", {"path": path}


def read(path: str, **page: int) -> Call:
    return "read_file", {"path": path, **page}


def defined(name: str, path: str = ".") -> Call:
    return grep(definition_pattern(name), path)


def called(name: str, path: str = ".") -> Call:
    return grep(call_pattern(name), path)


def files(pattern: str, path: str = ".") -> Call:
    return "glob", {"pattern": pattern, "path": path}


count = files
"""Counting files asks for the same call as finding them; only the telling differs."""


def lines(path: str, **narrowed: str) -> Call:
    return "grep", {"pattern": "^", "path": path, **narrowed}


def largest(path: str = ".", limit: int = 10) -> Call:
    return "glob", {"pattern": "**/*", "path": path, "order": "size", "limit": limit}


def changed(path: str = ".", limit: int = 10) -> Call:
    return "glob", {"pattern": "**/*", "path": path, "order": "modified", "limit": limit}


def period(path: str = ".") -> Call:
    return "glob", {"pattern": "**/*", "path": path, "order": "modified"}
