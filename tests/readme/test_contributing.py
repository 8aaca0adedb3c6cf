"""CONTRIBUTING.md maps the terms of the turn specification to files and names: each of them exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| (?P<term>.+) \| `(?P<file>[\w/]+\.py)` \| `(?P<name>[\w.]+)` \|$", re.MULTILINE)


def _names(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name
            yield from _names(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))


def test_every_term_leads_to_a_name_that_exists() -> None:
    rows = [row.groupdict() for row in _ROW.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))]
    assert len(rows) > 50
    missing = [
        f"{row['term']}: {row['file']} has no {row['name']}"
        for row in rows
        if not (ROOT / row["file"]).is_file()
        or row["name"] not in set(_names(ast.parse((ROOT / row["file"]).read_text(encoding="utf-8")).body))
    ]
    assert missing == []


def test_every_link_of_the_documents_leads_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        local = [target for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in target]
        assert [target for target in local if not (ROOT / target).exists()] == []
