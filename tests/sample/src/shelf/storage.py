"""Reads and writes the list of loans."""

from datetime import date
from pathlib import Path

from .loan import Loan


def load(path: Path) -> list[Loan]:
    if not path.exists():
        return []
    # TODO: report a broken line with its number
    return [parse(line) for line in path.read_text(encoding="utf-8").splitlines()]


def save(path: Path, loans: list[Loan]) -> None:
    # TODO: write to a temporary file first
    path.write_text("".join(f"{format_line(loan)}\n" for loan in loans), encoding="utf-8")


def parse(line: str) -> Loan:
    title, borrower, day = line.split("\t")
    return Loan(title, borrower, date.fromisoformat(day))


def format_line(loan: Loan) -> str:
    return f"{loan.title}\t{loan.borrower}\t{loan.day.isoformat()}"
