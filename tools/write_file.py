"""The tool write_file: a whole file, new or overwritten."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from pathlib import Path

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn

from .encoding import marked
from .replace import Stamp, exclusive, refuse_unwritable, replace
from .version import Version
from .wording import count
from .workspace import Workspace

_PROBE = 64 * 1024


def tool(workspace: Workspace) -> Callable[..., ToolReturn[str]]:
    """The tool, bound to a workspace."""

    def write_file(path: str, content: str) -> ToolReturn[str]:
        """Create a text file, or overwrite one, with exactly the given content in UTF-8.

        Missing directories are created. To change part of a file use update_file. A file that holds something is
        overwritten only if it was read (with read_file) and has not changed since. What belongs to git is not written.

        Args:
            path: The file, relative to the workspace.
            content: The whole content of the file.
        """
        real = workspace.writable(path)
        name = workspace.display(real)
        data = encode(content)
        with exclusive(real):
            stamp, notes = _before_overwriting(workspace, real, name, data) if real.exists() else (None, "")
            _make_parent(real, name)
            notes += replace(real, name, data, stamp)
            workspace.saw(real, Version.of_bytes(data))
        lines = content.count("\n") + (not content.endswith("\n") and content != "")
        did = "Overwrote" if stamp else "Created"
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


def _before_overwriting(workspace: Workspace, real: Path, name: str, data: bytes) -> tuple[Stamp, str]:
    """Refuse to overwrite what was never seen; returns the file's stamp and what the new content loses of the old."""
    refuse_unwritable(real, name)
    seen = workspace.seen(real)
    with real.open("rb") as file:
        status = os.fstat(file.fileno())
        if seen is None and status.st_size:
            raise ToolFailed(
                f"{name} exists and was not read, so overwriting it could lose something; read it with read_file first "
                "(what is no text can be removed with bash)."
            )
        if seen not in (None, Version.of(file)):
            raise ToolFailed(f"{name} has changed since it was last read; read it again before overwriting it.")
        head = file.read(_PROBE)
    return Stamp.of(status), _lost(head, data)


def _lost(head: bytes, data: bytes) -> str:
    notes = ""
    mark, new = marked(head), marked(data)
    if mark and mark != new:
        notes += f" The old file was {mark.name}, the new one is UTF-8{' with BOM' if new else ' without BOM'}."
    elif not mark and not _is_utf8(head):
        notes += " The old file was not UTF-8, the new one is."
    if b"\r\n" in head and b"\r\n" not in data:
        notes += " The old file had CRLF line ends, the new one does not."
    return notes


def _is_utf8(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < _PROBE)
    except UnicodeDecodeError:
        return False
    return True


def _make_parent(real: Path, name: str) -> None:
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ToolFailed(f"{name} cannot be created: a part of its path is a file, not a directory.") from None
    except PermissionError:
        raise ToolFailed(f"{name} cannot be created: permission denied on a directory of its path.") from None
