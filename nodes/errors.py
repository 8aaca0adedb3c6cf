"""The errors a turn can end in, and the outcome each one means.

TurngraphError
├── UsageError           usage_error       the user asked for something that cannot be
│   └── UnknownSession
├── ProviderError        provider_failure  the model's server failed or answered nonsense
│   └── ContextOverflow                    the request is larger than the model can read
├── TurnAborted          aborted           the user chose 'abort' at a question
├── SinkError            internal_error    events could not be delivered
├── StoreError           internal_error    the store cannot be read or written
│   └── SessionBusy      session_busy      another process owns the session
└── FlowError            internal_error    the graph was not obeyed
    ├── UndeclaredTransition
    └── IllegalState
"""

from __future__ import annotations

from typing import ClassVar

from .outcome import Outcome


class TurngraphError(Exception):
    """Base of all errors of this package; its text is one sentence for a person."""

    outcome: ClassVar[Outcome] = Outcome.INTERNAL_ERROR


class UsageError(TurngraphError):
    """A wrong option, model, role, setting or path: nothing ran."""

    outcome = Outcome.USAGE_ERROR


class UnknownSession(UsageError):
    """No session, or more than one, fits the given id."""


class ProviderError(TurngraphError):
    """The model's server refused, failed, or sent what could not be decoded."""

    outcome = Outcome.PROVIDER_FAILURE


class ContextOverflow(ProviderError):
    """The request is larger than the model's context window."""


class TurnAborted(TurngraphError):
    """A policy answered a call with 'abort'."""

    outcome = Outcome.ABORTED


class SinkError(TurngraphError):
    """The sink raised: what the turn does can no longer be shown."""


class StoreError(TurngraphError):
    """The store cannot be opened, read or written."""


class SessionBusy(StoreError):
    """Another living process is running a turn of this session."""

    outcome = Outcome.SESSION_BUSY


class FlowError(TurngraphError):
    """A node did what its flow does not declare."""


class UndeclaredTransition(FlowError):
    """A node returned a successor that its return annotation does not name."""


class IllegalState(FlowError):
    """A node was entered from a state that the flow's state machine does not allow."""
