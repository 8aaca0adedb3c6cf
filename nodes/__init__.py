"""What happens: the six nodes of a turn, one file each."""

from .dispatch import Dispatch
from .execute import Execute
from .persist import Persist
from .prepare_history import PrepareHistory
from .process_node import ProcessNode
from .stream import Stream

__all__ = ["Dispatch", "Execute", "Persist", "PrepareHistory", "ProcessNode", "Stream"]
