"""The commands by name: each is loaded when it is used, and the root's help needs none of them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

SUMMARIES = {
    "run": "Run one turn: ask, let the tools work, print the answer.",
    "turn": "Look into a turn, go on with one that was cut off, or try it again differently.",
    "session": "Look at earlier conversations, and keep, copy or delete them.",
    "graph": "Draw, check and compare the graph of a turn.",
    "nodes": "Look at the roles of a turn and who can play them.",
    "doctor": "Say what is configured, which model would answer and why, and how to mend what is missing.",
    "settings": "Look at the settings in force.",
}
"""Each command's module in this package, and its line in the root's help."""


class _Loaded(MutableMapping[str, Any]):
    """Command name to command, built at the first look."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in SUMMARIES:
            raise KeyError(name)
        if name not in self._built:
            module = import_module(f".{name}", __package__)
            self._built[name] = typer.main.get_command(module.app)
            self._built[name].name = name
        return self._built[name]

    def __setitem__(self, name: str, command: TyperCommand) -> None:
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        del self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


class Commands(TyperGroup):
    """The root's group; typer would otherwise build every option of every command to print six lines."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Loaded()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(SUMMARIES)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))
