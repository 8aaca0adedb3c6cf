"""How a turn was asked for, in words that its record keeps, so that it can be asked for again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

PolicyName = Literal["read-only", "ask", "auto"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Who plays in a turn, as a person says it.

    `model` is `None` where an agent's own answers; `flows` are the swaps of named flows, `flow` the name of one of
    them or `standard`, and `swaps` what was swapped beside it. A server's address holds no secret, since one that
    does is refused before a turn begins.
    """

    model: str | None
    base_url: str | None = None
    policy: PolicyName = "ask"
    flow: str = "standard"
    flows: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    swaps: Sequence[str] = ()
    agent: str | None = None

    def as_json(self) -> dict[str, Any]:
        """What is stored: files by their whole paths, and of the named flows only the one that is run."""
        told = {
            "model": self.model,
            "base_url": self.base_url,
            "policy": self.policy,
            "flow": self.flow,
            "flows": {name: [*map(_anchored, swaps)] for name, swaps in self.flows.items() if name == self.flow},
            "swaps": [*map(_anchored, self.swaps)],
            "agent": self.agent and _whole(self.agent),
        }
        return {name: value for name, value in told.items() if value}

    def with_swaps(self, swaps: Sequence[str]) -> Mapping[str, Any]:
        """The fields of the same flow with these swaps made too; they win over those of the same role."""
        roles = {_role(swap) for swap in swaps}
        kept = [swap for swap in self.swaps if _role(swap) not in roles]
        return {"flow": self.flow, "flows": self.flows, "swaps": (*kept, *swaps)}


def asked_in(record: Mapping[str, Any]) -> Asked | None:
    """What `Asked.as_json` wrote; `None` of a turn that a program of somebody's own began."""
    known: dict[str, Any] = {"model": None, **record}
    return Asked(**known) if record else None


def _role(swap: str) -> str:
    return swap.partition("=")[0].strip()


def _anchored(swap: str) -> str:
    role, equals, cls = swap.partition("=")
    return f"{role}{equals}{_whole(cls.strip())}"


def _whole(place: str) -> str:
    """A place with the whole path of its file, for whoever stands in another directory."""
    file, colon, name = place.partition(":")
    return f"{Path(file).expanduser().absolute()}{colon}{name}" if file.endswith(".py") else place
