"""With the real tools, each kind of request is answered truly, and what an answer leaves out is said."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent
from turngraph.flows.offline import offline_model
from turngraph.flows.offline.request import LONGEST, Request
from turngraph.flows.offline.rules import RULES, route
from turngraph.tools.toolset import workspace_toolset

pytestmark = pytest.mark.anyio


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


async def answer(root: Path, said: str) -> str:
    return (await Agent(offline_model(root), toolsets=[workspace_toolset(root)]).run(said)).output


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(
        tmp_path,
        {
            "README.md": "# Sample\n\nTODO: say what it is\n",
            "src/app.py": "def load(path):\n    return path  # TODO\n\n\nprint(load('x'))\n",
            "src/deep/big.py": "from app import load\n\nDATA = load('y')\n" + "# filler\n" * 100,
            "src/[slug].ts": "const load = 1\n",
            "build/out.py": "load('z')\n",
            ".gitignore": "build/\n",
        },
    )
    (tmp_path / "picture.bin").write_bytes(b"\x00\x01\n\n")
    old = time.time() - 40 * 86_400
    for path in tmp_path.rglob("*"):
        os.utime(path, (old, old))
    os.utime(tmp_path / "src/app.py")
    return tmp_path


@pytest.mark.parametrize(
    ("said", "shown", "not_shown"),
    [
        ("find TODO", ["README.md:3: ", "src/app.py:2: ", "[left out by .gitignore: 1 file]"], ["build/out.py"]),
        ("where is load defined?", ["src/app.py:1: def load", "src/[slug].ts:1: ", "shape"], ["DATA", "src/app.py:5"]),
        ("where is nothing_here defined?", ["No line looks like a definition of nothing_here", "find"], ["[0 match"]),
        (
            "who calls load?",
            [
                "[2 lines that look like a call of load]",
                "src/app.py:5: ",
                "src/deep/big.py:3: ",
                "[left out: 1 line that looks like its definition]",
                "by text",
            ],
            ["src/app.py:1: "],
        ),
        ("who calls nobody_calls_this?", ["No line looks like a call of nobody_calls_this"], []),
        ("tree", ["[6 files in 2 folders;", "\nsrc/\n", "\n  deep/\n    big.py", "\n  [slug].ts", ".gitignore: 1"], []),
        ("show the tree of src", ["[3 files in 2 folders;", "src/\n", "  deep/\n    big.py"], ["README.md"]),
        ("largest file", ["bytes  src/deep/big.py", "[not shown: 5 smaller files]"], ["narrow", "README.md"]),
        ("top 2 files by size", ["src/deep/big.py\n", "bytes  src/app.py", "[not shown: 4 smaller files]"], []),
        ("what changed today?", ["[1 file of 6 changed since", "src/app.py", "own times of change"], ["README.md"]),
        ("newest file", ["  src/app.py\n", "[not shown: 5 older files]"], ["README.md"]),
        ("what changed in the last 9 weeks?", ["[6 files of 6 changed since", "README.md", "src/app.py"], []),
        (
            "how many files are there?",
            ["6 files in the working directory and", "left out by .gitignore: 1 file"],
            ["app.py"],
        ),
        ("how many python files are in src?", ["2 files fit *.{py,pyi} in src"], []),
        ("how many lines are in src/app.py?", ["5 lines in src/app.py"], []),
        ("how many lines of code are in src?", ["109 lines, blank ones and comments too, in 3 files in src."], []),
        ("how many lines of code do we have?", ["[not counted: 1 file without a line or not text]"], []),
        ("how many TODOs are there?", ["2 lines with 'TODO', in 2 of 6 files", "README.md:3", "counts once"], []),
        ("find big.py", ["[1 file found for 'big.py' in .]", "src/deep/big.py"], []),
        ("find the file [slug].ts", ["src/[slug].ts"], []),
        ("find the readme", ["README.md", "'readme', in upper or lower case"], ["[rR]"]),
        ("find files named nope.py", ["[0 files found", 'find "nope.py"'], []),
        ("list the files in src", ["app.py", "deep/"], []),
        ("read lines 1 to 2 of src/app.py", ["lines 1-2 of 5", "1→def load"], ["5→"]),
        ("cat nowhere.py", ["read_file failed", "nowhere.py"], []),
        ("how many lines are in src/nowhere.py?", ["grep failed", "src/nowhere.py"], [" 0 lines"]),
    ],
)
async def test_the_answer_is_true_and_says_what_it_leaves_out(
    said: str, shown: list[str], not_shown: list[str], project: Path
):
    text = await answer(project, said)
    for part in shown:
        assert part in text, text
    for part in not_shown:
        assert part not in text, text


DEFINITIONS = {
    "a.py": [
        "def target(x):",
        "    async def target(self):",
        "class target(Base):",
        "target = 1",
        "    target: int = 3",
    ],
    "b.ts": [
        "export default function target() {",
        "export const target = () => 1",
        "  target(a, b) {",
        "type target = A",
    ],
    "c.go": ["func (s *Server) target(x int) error {", "func target() {", "type target struct {", "\ttarget := 1"],
    "d.rs": ["pub(crate) async fn target() {", "struct target;", "macro_rules! target {", "const target: u8 = 1;"],
    "e.c": ["static int target(void)", "#define target 1", "size_t target(char *x) {", "enum target {"],
    "f.java": ["    public static List<String> target(int x) {", "interface target {", "    private int target = 3;"],
    "g.rb": ["  def self.target(x)", "module target"],
    "h.sh": ["function target {", "target() {"],
}
OTHERS = {
    "a.py": [
        "    return target(1)",
        "# class target is old",
        "x = target",
        "call(target=1)",
        "    target=1,",
        "import target",
    ],
    "b.ts": ["  await target(1)", "if (target) {", "new target()", "target == 1"],
    "c.go": ["\treturn target(1)", "if target != nil {"],
    "d.md": ["see the function target", "untarget = 1", "def targets():"],
}


async def test_definitions_are_told_from_uses_in_many_languages(tmp_path: Path):
    write(tmp_path, {name: "\n".join(lines) + "\n" for name, lines in DEFINITIONS.items()})
    write(tmp_path / "uses", {name: "\n".join(lines) + "\n" for name, lines in OTHERS.items()})
    text = await answer(tmp_path, "where is target defined?")
    for name, lines in DEFINITIONS.items():
        for number, line in enumerate(lines, 1):
            assert f"{name}:{number}: {line}" in text, line
    assert "uses/" not in text, text


async def test_more_than_a_tool_shows_is_counted(tmp_path: Path):
    write(tmp_path, {"calls.py": "def f():\n" + "f()\n" * 150})
    text = await answer(tmp_path, "who calls f?")
    assert "[99 lines that look like a call of f among those shown]" in text
    assert "[not shown: 51 more matching lines" in text


async def test_every_kind_has_an_example_that_is_of_its_kind(project: Path):
    assert len(RULES) >= 12
    for rule in RULES:
        routed = route(Request.read(rule.example, project))
        assert routed is not None, rule.example
        assert routed[0] is rule, (rule.example, routed[0].kind)


@pytest.mark.parametrize("piece", ["find a in ", "how many ", "where is the ", "files ", "in the ", '"a" ', "of x "])
async def test_no_request_takes_long_to_read(piece: str, tmp_path: Path):
    for said in ((piece * LONGEST)[:LONGEST], "what files " + (piece * LONGEST)[: LONGEST - 20]):
        began = time.process_time()
        route(Request.read(said, tmp_path))
        assert time.process_time() - began < 1


async def test_a_result_is_told_by_the_request_that_asked_for_it(project: Path):
    agent = Agent(offline_model(project), toolsets=[workspace_toolset(project)])
    first = await agent.run("how many files are there?")
    second = await agent.run("what is the largest file?", message_history=first.all_messages())
    third = await agent.run("how many lines are in src/app.py?", message_history=second.all_messages())
    assert first.output.startswith("6 files in the working directory")
    assert "bytes  src/deep/big.py" in second.output
    assert third.output == "5 lines in src/app.py, blank ones and comments too."


VERBS = ["find", "show", "list", "count", "called", "calls", "defined", "changed", "load", "named", "are", "is"]
SMALL = ["how", "many", "files", "file", "lines", "of", "in", "the", "what", "which", "where", "who", "last", "days"]
THINGS = [
    "src",
    "largest",
    "today",
    "tree",
    "python",
    "*.py",
    "app.py",
    '"x y"',
    "../..",
    "\0",
    "٣",
    "-",
    "[",
    "\\",
    "~",
]
WORDS = st.sampled_from([*VERBS, *SMALL, *THINGS, "99999999999999", "top", "by size"])


@given(said=st.lists(WORDS, max_size=9).map(" ".join) | st.text(max_size=60))
async def test_any_words_become_a_call_or_nothing(said: str):
    routed = route(Request.read(said, Path("/nowhere")))
    assert routed is None or all(isinstance(value, str | int) for value in routed[1].arguments.values())
