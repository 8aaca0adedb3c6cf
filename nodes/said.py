"""What is said to the model in the user's place: the prompt, and how a turn broke off."""

from __future__ import annotations

from datetime import datetime

from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from .history.stamp import stamp
from .outcome import Outcome
from .reply import encodable


def prompt_message(prompt: str, at: datetime) -> ModelRequest:
    """The user's prompt as it is sent: with the time it was written, in a form that can be encoded."""
    return ModelRequest(parts=[UserPromptPart(stamp(encodable(prompt), at), timestamp=at)], timestamp=at)


_CUT_OFF = "[The request above was left without an answer: "
_WHY = {
    Outcome.INTERRUPTED: "it was interrupted",
    Outcome.TERMINATED: "the program was terminated",
    Outcome.ABORTED: "the user aborted it at a question",
    Outcome.BUDGET_EXHAUSTED: "its budget was spent",
    Outcome.PROVIDER_FAILURE: "the request to the model failed",
    Outcome.NO_ANSWER: "no usable reply came",
}


def cut_off_message(outcome: Outcome, unknown: list[str], at: datetime) -> ModelRequest:
    """What the next turn's model must know of a turn that ended without an answer.

    `unknown` names the tools whose calls were under way and may have had effects.
    """
    why = _WHY.get(outcome, "an error stopped it")
    text = f"{_CUT_OFF}{why}. Nothing of it goes on by itself."
    if unknown:
        names = ", ".join(sorted(set(unknown)))
        text += f" The outcome of {len(unknown)} call(s) is unknown ({names}): check before doing any of it again."
    return ModelRequest(parts=[UserPromptPart(f"{text}]", timestamp=at)], timestamp=at)


def says_cut_off(message: ModelMessage) -> bool:
    """Whether a message ends with what `cut_off_message` says."""
    last = message.parts[-1] if message.parts else None
    return isinstance(last, UserPromptPart) and isinstance(last.content, str) and last.content.startswith(_CUT_OFF)
