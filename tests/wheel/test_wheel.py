"""What is published holds the package, whole and alone, and works beside a project's own `tools` folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from email.parser import HeaderParser
from pathlib import Path

import turngraph

from .conftest import ROOT, Built, build, unpack

FOLDERS = ("flows", "graphs", "nodes", "tools")


def _sources() -> set[str]:
    """Where the package's files are expected in a wheel."""
    own = {f"turngraph/{path.name}" for path in (ROOT / ".src" / "turngraph").iterdir() if path.is_file()}
    return own | {f"turngraph/{path.relative_to(ROOT)}" for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}


def _project() -> dict[str, str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_wheel_holds_the_package_and_nothing_else(built: Built) -> None:
    info = f"turngraph-{turngraph.__version__}.dist-info"
    parts = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    assert built.files(built.wheel) == _sources() | {f"{info}/{part}" for part in parts}
    assert "turngraph/py.typed" in _sources()


def test_the_metadata_says_what_the_project_says(built: Built) -> None:
    (info,) = built.wheel.glob("*.dist-info")
    metadata = HeaderParser().parsestr((info / "METADATA").read_text(encoding="utf-8"))
    assert metadata["Name"] == "turngraph"
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == _project()["requires-python"]
    assert (info / "entry_points.txt").read_text(encoding="utf-8").split() == [
        "[console_scripts]",
        "turngraph",
        "=",
        "turngraph.__main__:main",
    ]


def test_the_sdist_holds_what_the_wheel_is_made_of(built: Built) -> None:
    """No test, no lock and nothing generated; and the wheel that is made from it is the same."""
    sources = {name.removeprefix("turngraph/") for name in _sources()}
    own = {f".src/turngraph/{name}" for name in sources if "/" not in name}
    documents = {"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", ".gitignore", "PKG-INFO"}
    assert built.files(built.sdist) == {name for name in sources if "/" in name} | own | documents


def test_a_wheel_made_from_the_sdist_is_the_same(built: Built, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    again = unpack(build(built.sdist, "wheel", tmp_path / "made"), tmp_path / "wheel")
    assert built.files(again) == built.files(built.wheel)


def test_it_runs_inside_a_project_with_folders_of_the_same_names(built: Built, tmp_path: Path) -> None:
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(
            "raise ImportError('the package took a folder of the project')\n"
        )
    (tmp_path / "home").mkdir()

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "turngraph", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(built.wheel), "HOME": str(tmp_path / "home")},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("--version").split() == ["turngraph", turngraph.__version__]
    assert "Dispatch" in run("graph", "export", "--format", "text")
