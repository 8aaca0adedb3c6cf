"""What a reader can count on: short files with a first sentence, and nodes that name their successors alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .modules import LAYERED, MODULES, ROOT, Module

LONGEST_NODE = 100
LONGEST_FILE = 350
_VAGUE = {"utils", "util", "helpers", "helper", "common", "misc"}


def _nodes() -> Iterator[tuple[Module, ast.ClassDef]]:
    for module in LAYERED:
        for one in module.classes:
            if any(ast.unparse(base) == "TurnNode" or ast.unparse(base).startswith("nodes.") for base in one.bases):
                yield module, one


def _lines(module: Module) -> int:
    return len(module.path.read_text(encoding="utf-8").splitlines())


def test_a_node_reads_like_one_page() -> None:
    roles = [one.name for _, one in _nodes()]
    assert {"PrepareHistory", "Stream", "ProcessNode", "Dispatch", "Execute", "Persist"} <= set(roles)
    assert {module.name: _lines(module) for module, _ in _nodes() if _lines(module) > LONGEST_NODE} == {}


def test_every_successor_is_written_as_a_role() -> None:
    """`nodes.X` in the annotation and in `go`, so that a reader finds every edge by one search."""
    wrong: list[str] = []
    for module, one in _nodes():
        runs = [item for item in one.body if isinstance(item, ast.AsyncFunctionDef) and item.name == "run"]
        named = [target for run in runs if run.returns for target in _alternatives(run.returns)]
        gone = [call.args[1] for call in _calls(one) if ast.unparse(call.func) == "go"]
        wrong += [
            f"{module.at(target.lineno)}: {ast.unparse(target)}" for target in [*named, *gone] if not _is_role(target)
        ]
    assert wrong == []


def _alternatives(annotation: ast.expr) -> Iterator[ast.expr]:
    if isinstance(annotation, ast.BinOp):
        yield from _alternatives(annotation.left)
        yield from _alternatives(annotation.right)
    elif isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated":
        assert isinstance(annotation.slice, ast.Tuple)
        yield annotation.slice.elts[0]
    else:
        yield annotation


def _calls(inside: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(inside) if isinstance(node, ast.Call))


def _is_role(target: ast.expr) -> bool:
    if isinstance(target, ast.Subscript):
        return ast.unparse(target.value) == "End"
    return isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "nodes"


def test_files_are_short_and_named_after_what_they_hold() -> None:
    tests = [Module(path, path.stem) for path in sorted((ROOT / "tests").rglob("*.py"))]
    every = [*MODULES.values(), *tests]
    assert {module.at(1) for module in every if _lines(module) > LONGEST_FILE} == set()
    assert {module.at(1) for module in every if _VAGUE & set(module.path.with_suffix("").parts[-2:])} == set()


def test_every_module_says_what_it_is_for() -> None:
    assert [module.at(1) for module in MODULES.values() if not ast.get_docstring(module.tree)] == []
