"""Record and replay of model calls: a request that was answered once need not be asked, or paid for, again.

A record is found by the request as a model reads it (the conversation, the model's name, settings, tools and
instructions) and by how often the same request was made before. What differs from run to run without a meaning is no
part of it: times, ids, usage and what a provider adds to its replies.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pydantic_ai.models import Model

Mode = Literal["record", "replay", "strict"]
"""`record` always asks and writes; `replay` asks and writes what is not in the file; `strict` never asks."""


def cached(model: Model, mode: Mode, path: Path) -> Model:
    """A model that takes its replies from a file, or writes them to it.

    The file holds one JSON record a line and is only added to, by any number of processes at once; it is created for
    the user alone, and the values of secret variables are not written to it. Failed and unfinished replies are not
    recorded. Counting tokens is passed on in every mode.

    A request raises, besides what the model raises:
        ProviderError: in `strict` mode, the request is not in the file; the error names the nearest that is.
        StoreError: the reply could not be written.

    Raises:
        UsageError: the file cannot be opened, is none of this kind, or was written by a newer version.
    """
    from .wrapper import CachedModel

    return CachedModel(model, mode, path)
