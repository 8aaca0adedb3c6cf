"""Other players of the six roles, by the names that `--swap ROLE=NAME` takes. Nothing is imported until it is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Registered:
    """A variant of this package: its role, the module and name that hold it, and what it trades for what.

    `argument` is what follows the name: `:MODEL`, `[:TURNS]` where it may be left out, or nothing.
    """

    role: str
    module: str
    attribute: str
    trade: str
    argument: str = ""


VARIANTS: Mapping[str, Registered] = MappingProxyType(
    {
        "serial": Registered("execute", "serial", "SerialExecute", "one call after another: time for order"),
        "dry-run": Registered("execute", "dry_run", "DryRunExecute", "only reads run: the work for a look at it"),
        "window": Registered(
            "prepare_history", "window", "window", "the latest turns only: memory for a bounded request", "[:TURNS]"
        ),
        "best-of": Registered(
            "stream", "best_of", "best_of", "several requests, one reply: money for steadiness", "[:REQUESTS]"
        ),
        "cascade": Registered(
            "stream", "cascade", "cascade", "a cheap model first: judgement for money", ":CHEAP_MODEL"
        ),
        "critic": Registered(
            "process_node", "critic", "Critic", "a weak answer goes back once: requests for better answers"
        ),
    }
)
