"""Other players of the six roles, by the names that `--swap ROLE=NAME` takes. Nothing is imported until it is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Registered:
    """A variant of this package: its role, the module and name that hold it, and what it trades for what.

    `argument` says what may follow the name after a colon; empty where nothing may.
    """

    role: str
    module: str
    attribute: str
    trade: str
    argument: str = ""


VARIANTS: Mapping[str, Registered] = MappingProxyType({})
