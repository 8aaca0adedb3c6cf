"""The tool grep: lines by regular expression."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Annotated, Any

from pydantic import Field
from pydantic_ai.exceptions import ToolFailed

from . import ripgrep
from .argument import refuse_unpassable
from .glob import relative_pattern
from .wording import count
from .workspace import Workspace

LIMIT = 100
LINE_CHARACTERS = 500
JSON_BYTES = 16 * 1024 * 1024
_STATISTICS_BYTES = 1024
_COUNT = ("--count", "--stats", "--null", "--with-filename", *ripgrep.VISIBLE)


def tool(workspace: Workspace) -> Callable[..., Awaitable[str]]:
    """The tool, bound to a workspace."""

    async def grep(
        pattern: str,
        path: str = ".",
        glob: str | None = None,
        ignore_case: bool = False,
        context: Annotated[int, Field(ge=0, le=20)] = 0,
        include_ignored: bool = False,
    ) -> str:
        """Search the lines of files for a regular expression.

        The dialect is that of Rust's regex: no look-around, no back-references, a literal { is written \\{. A
        match never spans lines. Each result is `path:line: text`. At most 100 matching lines are shown and all are
        counted. Binary files are not searched; what .gitignore excludes is left out and counted, .git never shown.

        Args:
            pattern: The regular expression.
            path: The directory to search, or one file, relative to the workspace.
            glob: Search only files that fit this pattern (*.py, src/**/*.ts), as in the glob tool.
            ignore_case: Do not distinguish upper and lower case.
            context: How many lines to show before and after each match.
            include_ignored: Search files that .gitignore excludes, too.
        """
        refuse_unpassable(pattern + (glob or ""), "pattern")
        options = [*(["--ignore-case"] if ignore_case else []), f"--regexp={pattern}"]
        real = workspace.resolve(path)
        directory = real.parent if real.is_file() else workspace.directory(path)
        ripgrep.refuse_git(workspace, directory)
        if real.is_file() and glob:
            raise ToolFailed(f"{workspace.display(real)} is a file; leave out `glob` or name a directory.")
        wanted = relative_pattern(glob, directory) if glob else None
        with ripgrep.time_limit():
            if real.is_file():
                counted = await _count_in_file(directory, real.name, options)
            else:
                counted = await _count(directory, options, wanted, include_ignored)
            if counted.suspect:
                await ripgrep.check(directory, pattern=pattern, glob=wanted)
            matches = await _matches(directory, counted.lines, [*options, f"--context={context}"])
        total = sum(counted.lines.values())
        shown = sum(match["match"] for match in matches)
        head = f"[{count(total, 'matching line')} in {len(counted.lines):,} of {count(counted.files, 'file')}]"
        lines = [head, *_render(matches, lambda name: workspace.display(directory / name), context > 0)]
        if total > shown:
            lines.append(f"[not shown: {count(total - shown, 'more matching line')}; narrow pattern, path or glob]")
        return "\n".join([*lines, *ripgrep.hidden_note(counted.hidden), *counted.problems])

    return grep


@dataclass(frozen=True)
class _Counted:
    """How many lines match in each file, sorted by path; `suspect` says that rg had a problem of some kind."""

    lines: dict[str, int]
    files: int
    hidden: int
    problems: list[str]
    suspect: bool


async def _count(directory: Path, options: list[str], wanted: str | None, include_ignored: bool) -> _Counted:
    """Search every file once, and list the files at the same time to tell how many .gitignore hides."""
    ignore = ["--no-ignore"] if include_ignored else []
    counting = [*_COUNT, *options, *ignore, *_narrowing(wanted), *ripgrep.NOT_GIT, "."]
    # One thread: the search has the others, and a listing spends more on sharing its work than on doing it.
    listing = [[*ripgrep.every(wanted), "--threads=1"]] if wanted or not include_ignored else []
    seeing = [ripgrep.VISIBLE_FILES] if wanted and not include_ignored else []
    search, *listed = await ripgrep.run_at_once(counting, *listing, *seeing, directory=directory)
    suspect = any(process.returncode == 2 for process in (search, *listed))
    lines = _parsed(search)
    if wanted:
        fitting = ripgrep.names(listed[0])
        shown = fitting if include_ignored else fitting & ripgrep.names(listed[1])
        lines = {name: number for name, number in lines.items() if name in shown}
        return _Counted(lines, len(shown), len(fitting) - len(shown), ripgrep.problems(search), suspect)
    complaints = [set(ripgrep.complaints(process)) for process in (search, *listed)]
    visible = _searched(search) + len(complaints[0].difference(*complaints[1:]))
    hidden = max(0, listed[0].stdout.count(b"\0") - visible) if listed else 0
    return _Counted(lines, visible, hidden, ripgrep.problems(search), suspect)


async def _count_in_file(directory: Path, name: str, options: list[str]) -> _Counted:
    search = await ripgrep.run([*_COUNT, *options, f"./{name}"], directory)
    return _Counted(_parsed(search), 1, 0, ripgrep.problems(search), search.returncode == 2)


def _parsed(search: CompletedProcess[bytes]) -> dict[str, int]:
    found = re.findall(rb"^\./([^\0]+)\0(\d+)\n", search.stdout, re.MULTILINE)
    return {os.fsdecode(name): int(lines) for name, lines in sorted(found)}


def _searched(search: CompletedProcess[bytes]) -> int:
    """How many files rg says it has searched, binary ones included."""
    found = re.search(rb"^(\d+) files? searched$", search.stdout[-_STATISTICS_BYTES:], re.MULTILINE)
    return int(found[1]) if found else 0


def _narrowing(glob: str | None) -> list[str]:
    """Options that spare rg files that cannot fit a glob, by name alone: unlike `--glob` they keep .gitignore."""
    name = (glob or "").rpartition("/")[2]
    if not name or name.startswith("!") or "**" in name or ("/" in (glob or "") and "{" in (glob or "")):
        return []
    return [f"--type-add=wanted:{name}", "--type=wanted"]


async def _matches(directory: Path, counts: dict[str, int], options: list[str]) -> list[dict[str, Any]]:
    """rg's records of the first matching lines and their context, file by file."""
    files: list[str] = []
    expected = 0
    for name, lines in counts.items():
        if expected >= LIMIT:
            break
        files.append(f"./{name}")
        expected += lines
    if not files:
        return []
    printed = await ripgrep.run_for_head(
        ["--json", "--threads=1", f"--max-count={LIMIT}", *ripgrep.VISIBLE, *options, "--", *files],
        directory,
        JSON_BYTES,
    )
    records = printed[: printed.rfind(b"\n") + 1].splitlines()
    return list(_first(json.loads(line) for line in records))


def _first(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    seen = 0
    for record in records:
        seen += record["type"] == "match"
        if seen > LIMIT:
            return
        if record["type"] in ("match", "context"):
            yield record["data"] | {"match": record["type"] == "match"}


def _render(matches: list[dict[str, Any]], display: Callable[[str], str], separated: bool) -> Iterator[str]:
    previous: tuple[str, int] | None = None
    for match in matches:
        name = os.fsdecode(_bytes(match["path"])).removeprefix("./")
        number = match["line_number"]
        if separated and previous not in (None, (name, number - 1)):
            yield "--"
        previous = (name, number)
        mark = ":" if match["match"] else "-"
        yield f"{display(name)}{mark}{number}{mark} {_line(_bytes(match['lines']), match['submatches'])}"


def _bytes(value: dict[str, str]) -> bytes:
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _line(raw: bytes, submatches: list[dict[str, Any]]) -> str:
    """The line, or, where it is over-long, the part of it around its first match."""
    raw = raw.rstrip(b"\r\n")
    text = decoded(raw)
    if len(text) <= LINE_CHARACTERS:
        return text
    at = len(decoded(raw[: submatches[0]["start"]])) if submatches else 0
    start = max(0, min(at - LINE_CHARACTERS // 4, len(text) - LINE_CHARACTERS))
    stop = start + LINE_CHARACTERS
    before = f"[{start:,} characters left out] …" if start else ""
    after = f"… [{len(text) - stop:,} characters left out]" if stop < len(text) else ""
    return f"{before}{text[start:stop]}{after}"


def decoded(raw: bytes) -> str:
    """Bytes as text; what is not UTF-8 and NULs are shown as \\xNN."""
    return raw.decode("utf-8", "backslashreplace").replace("\0", "\\x00")
