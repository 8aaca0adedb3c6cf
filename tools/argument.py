"""What can be handed to a program as an argument."""

from __future__ import annotations

from pydantic_ai.exceptions import ToolFailed


def refuse_unpassable(text: str, what: str) -> None:
    """Refuse a text that no command line can carry.

    Raises:
        ToolFailed: it holds a NUL or a lone surrogate.
    """
    if "\0" in text:
        raise ToolFailed(f"The {what} holds a NUL character, which no command line can; leave it out.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ToolFailed(
            f"The {what} holds a lone surrogate (U+{ord(text[error.start]):04X}); give the whole character instead."
        ) from None
