"""Where turns are kept: one SQLite file holding one append-only log.

A row is written once and never changed; sessions, histories, journals and owners are queries over the log.
"""

from .records import (
    Body,
    BranchBody,
    CompactBody,
    EndBody,
    ExternalBody,
    FailureBody,
    IntentBody,
    LoadedHistory,
    MessageBody,
    Origin,
    PruneBody,
    Record,
    ReleaseBody,
    RepairBody,
    ResultBody,
    ResumeBody,
    SealBody,
    SessionSummary,
    TreeBody,
    TurnBody,
    TurnHead,
    VisitBody,
)
from .store import Store
from .turns import LEASE
from .writer import TurnWriter

__all__ = [
    "LEASE",
    "Body",
    "BranchBody",
    "CompactBody",
    "EndBody",
    "ExternalBody",
    "FailureBody",
    "IntentBody",
    "LoadedHistory",
    "MessageBody",
    "Origin",
    "PruneBody",
    "Record",
    "ReleaseBody",
    "RepairBody",
    "ResultBody",
    "ResumeBody",
    "SealBody",
    "SessionSummary",
    "Store",
    "TreeBody",
    "TurnBody",
    "TurnHead",
    "TurnWriter",
    "VisitBody",
]
