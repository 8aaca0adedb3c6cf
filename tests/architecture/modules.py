"""The package's modules, parsed and not imported: what they import is read from their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAYERS = ("tools", "nodes", "graphs", "flows")
"""The folders, from the bottom up: each may import from itself and from those before it."""


@dataclass(frozen=True)
class Import:
    """One imported module or name, absolute; `lazy` when a function or a `TYPE_CHECKING` block holds it."""

    target: str
    line: int
    relative: bool
    lazy: bool


@dataclass(frozen=True)
class Module:
    """A source file; `name` is the one it is imported by."""

    path: Path
    name: str

    @property
    def layer(self) -> str:
        return self.name.split(".")[1]

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]

    @cached_property
    def imports(self) -> list[Import]:
        return list(self._imports(self.tree, lazy=False))

    def at(self, line: int) -> str:
        return f"{self.path.relative_to(ROOT)}:{line}"

    def _imports(self, node: ast.AST, *, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, child.lineno, False, lazy) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                source = self._absolute(child)
                relative = child.level > 0
                yield from (Import(f"{source}.{alias.name}", child.lineno, relative, lazy) for alias in child.names)
            else:
                inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or _is_for_checkers(child)
                yield from self._imports(child, lazy=lazy or inside)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if node.level == 0:
            return node.module or ""
        package = self.name.split(".")
        dropped = node.level - (self.path.name == "__init__.py")
        kept = package[: len(package) - dropped]
        return ".".join([*kept, node.module] if node.module else kept)


def _is_for_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _read() -> Iterator[Module]:
    root = ROOT / ".src" / "turngraph"
    yield Module(root / "__init__.py", "turngraph")
    yield Module(root / "__main__.py", "turngraph.__main__")
    yield Module(root / "testing.py", "turngraph.testing")
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield Module(path, ".".join(("turngraph", *(part for part in parts if part != "__init__"))))


MODULES = {module.name: module for module in _read()}
LAYERED = [module for module in MODULES.values() if module.name.count(".") and module.layer in LAYERS]
"""The modules of the four folders, without the package's own three files."""
