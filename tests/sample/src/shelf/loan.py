"""One lent book."""

from dataclasses import dataclass
from datetime import date, timedelta

LOAN_DAYS = 28


@dataclass(frozen=True)
class Loan:
    title: str
    borrower: str
    day: date

    @property
    def due(self) -> date:
        # TODO: skip public holidays
        return self.day + timedelta(days=LOAN_DAYS)

    def is_overdue(self, today: date) -> bool:
        return today > self.due
