"""What lies in the repository: the folders of the house at its root, and nothing of the machine it was made on."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .modules import LAYERS, ROOT

HOUSE = {*LAYERS, "tests", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "uv.lock"}


def _files() -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [name for name in listing.stdout.split("\0") if name and (ROOT / name).exists()]


def test_the_root_shows_the_house() -> None:
    shown = {name.partition("/")[0] for name in _files()}
    assert {name for name in shown if not name.startswith(".")} == HOUSE


def test_the_package_links_to_its_folders() -> None:
    package = ROOT / ".src" / "turngraph"
    assert {path.name: path.readlink() for path in package.iterdir() if path.is_symlink()} == {
        layer: Path("..", "..", layer) for layer in LAYERS
    }


def test_no_file_holds_a_path_of_the_machine_it_was_made_on() -> None:
    here = [str(path) for path in (ROOT, Path.home()) if len(path.parts) > 2]
    homes = [r"/root/", r"/work/", r"/home/\w+/", r"/Users/\w+/"]
    found = re.compile(r"(?<![\w./~-])(?:" + "|".join([*map(re.escape, here), *homes]) + ")")
    named: list[str] = []
    for name in _files():
        path = ROOT / name
        if path.is_symlink() or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            named += [f"{name}:{number}: {line.strip()[:100]}"] * bool(found.search(line))
    assert named == []
