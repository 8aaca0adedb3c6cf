"""What a call of a writing tool would make of a file, as a diff, without writing it: for a person to agree to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic_ai.exceptions import ToolFailed

from .diff import CONTEXT
from .encoding import decode
from .update_file import LIMIT_BYTES, plan
from .wording import count
from .workspace import Workspace
from .write_file import encode

_COMPARED = 4_000_000
"""Pairs of lines that are compared at most; beyond, the lines that differ are shown as one block."""

_Code = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


@dataclass(frozen=True)
class Preview:
    """What would happen, in a few words, and the whole diff, a line each, with nothing escaped."""

    summary: str
    diff: list[str]


class _Update(BaseModel):
    path: str
    old: str
    new: str
    replace_all: bool = False


class _Write(BaseModel):
    path: str
    content: str


def preview(root: Path, tool_name: str, args: Mapping[str, Any]) -> Preview | None:
    """The preview of a call of `update_file` or `write_file` in a workspace as it is now; `None` for other tools.

    Raises:
        ToolFailed: the call would be refused.
        ValidationError: the arguments do not fit the tool.
    """
    match tool_name:
        case "update_file":
            return _update(Workspace(root), _Update(**args))
        case "write_file":
            return _write(Workspace(root), _Write(**args))
        case _:
            return None


def _update(workspace: Workspace, call: _Update) -> Preview:
    edit = plan(workspace, call.path, call.old, call.new, call.replace_all)
    before, after = decode(_read(workspace, call.path), edit.name)[0], decode(edit.content, edit.name)[0]
    return Preview(f"edits {edit.name}{edit.how}", line_diff(edit.name, before, after))


def _write(workspace: Workspace, call: _Write) -> Preview:
    encode(call.content)
    real = workspace.writable(call.path)
    name = workspace.display(real)
    if not real.exists():
        lines = count(len(_lines(call.content)), "line")
        return Preview(f"creates {name}: {lines}", line_diff(name, "", call.content, created=True))
    size = real.stat().st_size
    try:
        before = decode(_read(workspace, call.path), name)[0]
    except ToolFailed as why:
        summary = f"overwrites {name}, {count(size, 'byte')} that cannot be compared ({why})"
        return Preview(summary, line_diff(name, "", call.content))
    return Preview(f"overwrites {name}, {count(size, 'byte')}", line_diff(name, before, call.content))


def _read(workspace: Workspace, path: str) -> bytes:
    real, file = workspace.open(path)
    with file:
        data = file.read(LIMIT_BYTES + 1)
    if len(data) > LIMIT_BYTES:
        raise ToolFailed(f"{workspace.display(real)} has more than {LIMIT_BYTES:,} bytes")
    return data


def line_diff(name: str, before: str, after: str, *, created: bool = False) -> list[str]:
    """The unified diff of two texts by their lines, whole. A text without a last newline says so."""
    old, new = _lines(before), _lines(after)
    diff = ["--- /dev/null" if created else f"--- a/{name}", f"+++ b/{name}"]
    for group in _differences(old, new).get_grouped_opcodes(CONTEXT):
        (_, first, _, start, _), (_, _, last, _, stop) = group[0], group[-1]
        diff.append(f"@@ -{_range(first, last)} +{_range(start, stop)} @@")
        for tag, i, j, k, m in group:
            if tag == "equal":
                diff += _signed(" ", old[i:j])
            else:
                diff += [*_signed("-", old[i:j]), *_signed("+", new[k:m])]
    return diff


def _lines(text: str) -> list[str]:
    """Each line with its newline, so that a missing one is a difference."""
    return [f"{line}\n" for line in text.split("\n")[:-1]] + [rest for rest in [text.rpartition("\n")[2]] if rest]


def _signed(sign: str, lines: list[str]) -> list[str]:
    signed = [sign + line.removesuffix("\n") for line in lines]
    return [*signed, "\\ No newline at end of file"] if lines and not lines[-1].endswith("\n") else signed


def _range(start: int, stop: int) -> str:
    return f"{start + (stop > start)},{stop - start}"


class _Found(SequenceMatcher[str]):
    """Groups differences that were found before."""

    def __init__(self, codes: list[_Code]) -> None:
        super().__init__(None, "", "")
        self._found = codes

    def get_opcodes(self) -> list[_Code]:
        return self._found


def _differences(old: list[str], new: list[str]) -> _Found:
    """What is equal at both ends is told first: the rest takes time by its square."""
    head = _same(old, new)
    tail = min(_same(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    end, stop = len(old) - tail, len(new) - tail
    inner: list[_Code]
    if (end - head) * (stop - head) <= _COMPARED:
        inner = SequenceMatcher(None, old[head:end], new[head:stop], autojunk=False).get_opcodes()
    else:
        inner = [("replace", 0, end - head, 0, stop - head)]
    codes: list[_Code] = [("equal", 0, head, 0, head)]
    for tag, i, j, k, m in inner:
        codes.append((tag, i + head, j + head, k + head, m + head))
    codes.append(("equal", end, len(old), stop, len(new)))
    return _Found([code for code in codes if code[1] < code[2] or code[3] < code[4]])


def _same(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
