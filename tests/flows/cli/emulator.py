"""What a terminal shows after all that was written to it: the few controls that this program uses, and wrapping."""

from __future__ import annotations

import re

from rich.cells import cell_len

_TOKEN = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|[\s\S]")


class Emulator:
    """A terminal with its scrollback. A control that it does not know is an error."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self._columns = columns
        self._height = rows
        self._lines: list[list[str]] = [[]]
        self._wrapped: list[bool] = [False]
        self._row = 0
        self._column = 0

    def feed(self, text: str) -> None:
        for token in _TOKEN.finditer(text.replace("\r\n", "\n")):
            if token[2] is None:
                self._write(token[0])
            else:
                self._control(token[1], token[2])

    def rows(self) -> list[str]:
        """Every row there ever was, scrollback first."""
        return ["".join(line) for line in self._lines]

    def copied(self) -> str:
        """What selecting everything copies: rows that the terminal wrapped itself are one line."""
        text = ""
        for row, wrapped in zip(self.rows(), self._wrapped, strict=True):
            text += row if wrapped else f"{row}\n"
        return text

    def _write(self, char: str) -> None:
        if char == "\n":
            self._down(wrapped=False)
        elif char == "\r":
            self._column = 0
        else:
            width = cell_len(char)
            if self._column + width > self._columns:
                self._down(wrapped=True)
            line = self._lines[self._row]
            line[self._column :] = [char, *[""] * (width - 1)]
            self._column += width

    def _down(self, *, wrapped: bool) -> None:
        self._wrapped[self._row] = wrapped
        self._row += 1
        self._column = 0
        if self._row == len(self._lines):
            self._lines.append([])
            self._wrapped.append(False)

    def _control(self, arguments: str, letter: str) -> None:
        match letter:
            case "A":
                top = max(0, len(self._lines) - self._height)
                assert self._row - int(arguments or 1) >= top, "moved above the screen"
                self._row -= int(arguments or 1)
            case "J":
                assert arguments == ""
                del self._lines[self._row + 1 :], self._wrapped[self._row + 1 :]
                del self._lines[self._row][self._column :]
            case "m":
                pass
            case "h" | "l":
                assert arguments == "?2026"
            case _:
                raise AssertionError(f"unknown control {arguments}{letter}")


def shown(text: str, columns: int = 80, rows: int = 24) -> str:
    """The rows of a terminal after a text, without the empty last one."""
    emulator = Emulator(columns, rows)
    emulator.feed(text)
    return "\n".join(emulator.rows())
