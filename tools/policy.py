"""Who may run what: a policy is asked once about every valid call, before anything runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .effects import Effect


@dataclass(frozen=True)
class CallRequest:
    """A call that wants to run: its tool, its validated arguments, and what it may do."""

    call_id: str
    tool_name: str
    args: Mapping[str, Any]
    effect: Effect
    requires_approval: bool = False
    """The tool itself asks for a person's approval (pydantic-ai's `requires_approval`)."""

    @property
    def harmless(self) -> bool:
        return self.effect is Effect.READ_ONLY and not self.requires_approval


@dataclass(frozen=True)
class Allow:
    """The call may run."""


@dataclass(frozen=True)
class Refuse:
    """The call may not run; the model is told the reason and goes on."""

    reason: str


@dataclass(frozen=True)
class Abort:
    """The call may not run and the turn ends."""


Decision = Allow | Refuse | Abort
Ask = Callable[[CallRequest], Awaitable[Decision]]


class Policy(Protocol):
    """Decides about each call. `asks` tells whether deciding about this call may wait for a person."""

    def asks(self, request: CallRequest) -> bool: ...

    async def decide(self, request: CallRequest) -> Decision: ...


class ReadOnly:
    """Read-only calls run; everything else is refused."""

    def asks(self, request: CallRequest) -> bool:
        return False

    async def decide(self, request: CallRequest) -> Decision:
        if request.harmless:
            return Allow()
        return Refuse(f"the policy is read-only and {request.tool_name} is declared {request.effect.value}")


class Auto:
    """Everything runs unasked."""

    def asks(self, request: CallRequest) -> bool:
        return False

    async def decide(self, request: CallRequest) -> Decision:
        return Allow()


class AskFirst:
    """Read-only calls run; a person is asked about the rest. Without a person (`ask=None`) the rest is refused."""

    def __init__(self, ask: Ask | None) -> None:
        self._ask = ask

    def asks(self, request: CallRequest) -> bool:
        return self._ask is not None and not request.harmless

    async def decide(self, request: CallRequest) -> Decision:
        if request.harmless:
            return Allow()
        if self._ask is None:
            return Refuse(
                f"{request.tool_name} is declared {request.effect.value} and there is no terminal to ask on; "
                "run with --policy auto to allow it"
            )
        return await self._ask(request)
