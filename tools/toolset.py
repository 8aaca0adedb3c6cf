"""The tools of a workspace, each with its declared effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic_ai.toolsets import FunctionToolset

from . import bash, glob, grep, list_dir, read_file, update_file, write_file
from .effects import Effect, declare
from .workspace import Workspace


def workspace_toolset(root: Path) -> FunctionToolset[Any]:
    """The seven tools that work on a directory and never leave it, `bash` excepted.

    Raises:
        FileNotFoundError: the directory does not exist.
        NotADirectoryError: it is no directory.
    """
    workspace = Workspace(root)
    toolset = FunctionToolset[Any](docstring_format="google", require_parameter_descriptions=True)
    for module, effect in (
        (read_file, Effect.READ_ONLY),
        (list_dir, Effect.READ_ONLY),
        (glob, Effect.READ_ONLY),
        (grep, Effect.READ_ONLY),
        (write_file, Effect.WRITE),
        (update_file, Effect.WRITE),
        (bash, Effect.EXECUTE),
    ):
        toolset.add_function(module.tool(workspace), metadata=declare(effect))
    return toolset
