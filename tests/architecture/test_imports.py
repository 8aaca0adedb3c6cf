"""Imports run one way, `flows -> graphs -> nodes -> tools`, and what is slow to load is loaded late."""

from __future__ import annotations

from turngraph.flows.cli.commands import SUMMARIES

from .modules import LAYERED, LAYERS, MODULES

HEAVY = ("networkx", "pydantic_ai", "pydantic_graph", "rich")


def test_imports_never_run_upwards() -> None:
    wrong = [
        f"{module.at(one.line)} imports {one.target}"
        for module in LAYERED
        for one in module.imports
        if one.target.startswith("turngraph.")
        and (folder := one.target.split(".")[1]) in LAYERS
        and LAYERS.index(folder) > LAYERS.index(module.layer)
    ]
    assert wrong == []


def test_the_package_imports_itself_by_relative_names_of_its_folders() -> None:
    """An absolute import, or a public name taken from the package, would tie a folder to what lies above it."""
    wrong = [
        f"{module.at(one.line)} imports {one.target}"
        for module in LAYERED
        for one in module.imports
        if one.target.split(".")[0] == "turngraph" and (not one.relative or one.target.split(".")[1] not in LAYERS)
    ]
    assert wrong == []


def test_networkx_is_loaded_where_graphs_are_seen_only() -> None:
    wrong = [
        module.at(one.line)
        for module in LAYERED
        for one in module.imports
        if one.target.split(".")[0] == "networkx" and module.layer != "graphs" and not one.lazy
    ]
    assert wrong == []


def test_starting_the_command_line_loads_nothing_heavy() -> None:
    """Follows what is imported at once from the command's start; a process of its own would not say who did it."""
    seen: set[str] = set()
    heavy: list[str] = []
    waiting = ["turngraph.__main__", *(f"turngraph.flows.cli.{name}" for name in ("app", *SUMMARIES))]
    while waiting:
        name = waiting.pop()
        if name not in MODULES:
            continue
        if name in seen:
            continue
        seen.add(name)
        module = MODULES[name]
        for one in module.imports:
            if one.lazy:
                continue
            if one.target.split(".")[0] in HEAVY:
                heavy.append(f"{module.at(one.line)} imports {one.target}")
            parts = one.target.split(".")
            waiting += [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    assert "turngraph.flows.cli.failures" in seen
    assert heavy == []
