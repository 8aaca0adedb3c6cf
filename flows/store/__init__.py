"""Where turns are kept: one SQLite file holding one append-only log.

A row is written once and never changed; sessions, histories, journals and owners are queries over the log.
"""

from .records import (
    Body,
    EndBody,
    IntentBody,
    LoadedHistory,
    MessageBody,
    Record,
    RepairBody,
    ResultBody,
    SealBody,
    SessionSummary,
    TurnBody,
    TurnHead,
    VisitBody,
)
from .store import Store
from .writer import TurnWriter

__all__ = [
    "Body",
    "EndBody",
    "IntentBody",
    "LoadedHistory",
    "MessageBody",
    "Record",
    "RepairBody",
    "ResultBody",
    "SealBody",
    "SessionSummary",
    "Store",
    "TurnBody",
    "TurnHead",
    "TurnWriter",
    "VisitBody",
]
