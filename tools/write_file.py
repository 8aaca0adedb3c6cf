"""The tool write_file: a whole file, new or overwritten."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn

from .replace import exclusive, refuse_unwritable, replace
from .wording import count
from .workspace import Workspace

_PROBE = 64 * 1024


def tool(workspace: Workspace) -> Callable[..., ToolReturn[str]]:
    """The tool, bound to a workspace."""

    def write_file(path: str, content: str) -> ToolReturn[str]:
        """Create a text file, or overwrite one, with exactly the given content in UTF-8.

        Missing directories are created. To change part of a file use update_file. A file that changed since it was
        last read is not overwritten: read it again first.

        Args:
            path: The file, relative to the workspace.
            content: The whole content of the file.
        """
        real = workspace.resolve(path)
        name = workspace.display(real)
        data = encode(content)
        with exclusive(real):
            exists = real.exists()
            notes = _before_overwriting(workspace, real, name, data) if exists else ""
            _make_parent(workspace, real, name)
            replace(real, name, data)
            workspace.saw(real)
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        did = "Overwrote" if exists else "Created"
        text = f"{did} {name}: {count(lines, 'line')}, {count(len(data), 'byte')}.{notes}"
        return ToolReturn(text, metadata={"edited": [name]})

    return write_file


def encode(content: str) -> bytes:
    """The content in UTF-8.

    Raises:
        ToolFailed: it holds a lone surrogate, which no encoding can write.
    """
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolFailed(
            f"The text holds a lone surrogate (U+{ord(content[error.start]):04X}) at character {error.start + 1:,}, "
            "which UTF-8 cannot write; give the whole character instead."
        ) from None


def _before_overwriting(workspace: Workspace, real: Path, name: str, data: bytes) -> str:
    refuse_unwritable(real, name)
    if workspace.changed_since_seen(real):
        raise ToolFailed(f"{name} has changed since it was last read; read it again before overwriting it.")
    with real.open("rb") as file:
        head = file.read(_PROBE)
    notes = ""
    if head.startswith(codecs.BOM_UTF8) and not data.startswith(codecs.BOM_UTF8):
        notes += " The old file began with a BOM, the new one does not."
    if b"\r\n" in head and b"\r\n" not in data:
        notes += " The old file had CRLF line ends, the new one does not."
    return notes


def _make_parent(workspace: Workspace, real: Path, name: str) -> None:
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ToolFailed(f"{name} cannot be created: a part of its path is a file, not a directory.") from None
    except PermissionError:
        raise ToolFailed(f"{name} cannot be created: permission denied on a directory of its path.") from None
