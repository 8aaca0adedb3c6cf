"""For the tests of a variant's author: a model that plays a script, and the contract that every node keeps."""

from .flows.testing import SCRIPTS, Boundary, NodeContract, Reply, Script, ScriptedModel, Stage, walk, written_by

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
