"""For the tests of a variant's author: a model that plays a script, and the contract that every node keeps."""

from .contract import NodeContract
from .model import Reply, ScriptedModel
from .scripts import SCRIPTS, Script
from .stage import Stage
from .walk import Boundary, walk, written_by

__all__ = [
    "SCRIPTS",
    "Boundary",
    "NodeContract",
    "Reply",
    "Script",
    "ScriptedModel",
    "Stage",
    "walk",
    "written_by",
]
