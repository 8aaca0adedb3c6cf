"""What a node was made with, for nodes that are told something by the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...nodes.errors import UsageError
from ...nodes.node import TurnNode, class_name

GIVEN = "given"
"""The name under which it is kept among what the node before changed."""


def given_to(node: TurnNode | None) -> Mapping[str, Any]:
    """The fields of a node as plain JSON, under `GIVEN`; nothing for one that has none."""
    if node is None or not is_dataclass(node) or not fields(node):
        return {}
    return {GIVEN: TypeAdapter(type(node)).dump_python(node, mode="json")}


def made_again(cls: type[TurnNode], given: Any) -> TurnNode:
    """A node as it was made.

    Raises:
        UsageError: the class takes something else.
    """
    if given is None:
        return cls()
    try:
        return TypeAdapter(cls).validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(
            f"{class_name(cls)} cannot take what the node was made with ({first['loc']}: {first['msg']})"
        ) from error
