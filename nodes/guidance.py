"""What a model is told when its reply cannot be used; the turn asks again, a bounded number of times."""

from __future__ import annotations

from .deps import TurnDeps
from .events import Notice
from .state import TurnState

EMPTY = (
    "Your last reply held neither text nor a tool call. Either call a tool, or give your answer to the request as text."
)
CUT_OFF = (
    "Your last reply was cut off before its end and was discarded. Answer the request again, whole and short enough "
    "to fit; if there is much to write, write it to a file in several calls."
)


async def ask_again(state: TurnState, deps: TurnDeps) -> None:
    """Count the reply as unusable and say why with the next request."""
    state.task_completed = False
    state.unusable_replies += 1
    state.guidance = CUT_OFF if state.answer else EMPTY
    what = "was cut off" if state.answer else "was empty"
    await deps.sink.emit(Notice("warning", f"the model's reply {what}; asking it again"))
