"""The commands as the root's help shows them are the commands there are."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
import turngraph.flows.cli
import typer
from turngraph.flows.cli.commands import SUMMARIES, Commands

GROUP = Commands(name="turngraph")


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_command_says_of_itself_what_the_root_says_of_it(name: str) -> None:
    command = GROUP.commands[name]
    assert command.name == name
    assert (command.help or "").strip().splitlines()[0] == SUMMARIES[name]


def test_every_module_with_a_command_is_one() -> None:
    folder = Path(turngraph.flows.cli.__file__).parent
    modules = [import_module(f"turngraph.flows.cli.{path.stem}") for path in sorted(folder.glob("[a-z]*.py"))]
    own = {module.__name__.rpartition(".")[2] for module in modules if isinstance(vars(module).get("app"), typer.Typer)}
    assert own - {"app"} == set(SUMMARIES)


def test_another_name_is_no_command() -> None:
    assert "sesion" not in GROUP.commands
