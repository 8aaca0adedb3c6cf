"""The files of a git workspace at a point of a turn, kept in a repository of turngraph's own."""

from .git import TreeError
from .trees import Trees

__all__ = ["TreeError", "Trees"]
