"""The tool grep: lines by regular expression."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from pydantic_ai.exceptions import ToolFailed

from . import ripgrep
from .glob import relative_pattern
from .wording import count
from .workspace import Workspace

LIMIT = 100
LINE_CHARACTERS = 500


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
        options = [*(["--ignore-case"] if ignore_case else []), f"--regexp={pattern}"]
        real = workspace.resolve(path)
        directory = real.parent if real.is_file() else workspace.directory(path)
        ripgrep.refuse_git(workspace, directory)
        if real.is_file() and glob:
            raise ToolFailed(f"{workspace.display(real)} is a file; leave out `glob` or name a directory.")
        wanted = relative_pattern(glob, directory) if glob else None
        with ripgrep.time_limit():
            await ripgrep.check(directory, pattern=pattern, glob=wanted)
            if real.is_file():
                found = ripgrep.Found([real.name], 0, [])
                where = [f"./{real.name}"]
            else:
                found = await ripgrep.find(directory, glob=wanted, include_ignored=include_ignored)
                where = [*(["--no-ignore"] if include_ignored else []), *_narrowing(wanted), *ripgrep.NOT_GIT, "."]
            counts, problems = await _count(directory, [*options, *where], set(found.files))
            matches = await _matches(directory, counts, [*options, f"--context={context}"])
        total = sum(counts.values())
        head = f"[{count(total, 'matching line')} in {len(counts):,} of {count(len(found.files), 'file')}]"
        lines = [head, *_render(matches, lambda name: workspace.display(directory / name), context > 0)]
        if total > LIMIT:
            lines.append(f"[not shown: {count(total - LIMIT, 'more matching line')}; narrow pattern, path or glob]")
        return "\n".join([*lines, *ripgrep.hidden_note(found), *problems])

    return grep


async def _count(directory: Path, arguments: list[str], shown: set[str]) -> tuple[dict[str, int], list[str]]:
    """How many lines match in each of the files that may be shown, sorted by path."""
    process = await ripgrep.run(["--count", "--null", "--with-filename", *ripgrep.VISIBLE, *arguments], directory)
    counted = {os.fsdecode(name): int(count) for name, count in re.findall(rb"\./([^\0]+)\0(\d+)\n", process.stdout)}
    return {name: counted[name] for name in sorted(counted) if name in shown}, ripgrep.problems(process)


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
    process = await ripgrep.run(
        ["--json", "--threads=1", f"--max-count={LIMIT}", *ripgrep.VISIBLE, *options, "--", *files], directory
    )
    return list(_first(json.loads(line) for line in process.stdout.splitlines()))


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
