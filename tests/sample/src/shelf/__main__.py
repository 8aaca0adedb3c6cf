"""The command line: `lend TITLE BORROWER` or `due`."""

import sys
from datetime import date
from pathlib import Path

from .loan import Loan
from .storage import load, save

LIST = Path("loans.txt")


def main(arguments: list[str]) -> int:
    match arguments:
        case ["lend", title, borrower]:
            save(LIST, [*load(LIST), Loan(title, borrower, date.today())])
        case ["due"]:
            for loan in load(LIST):
                if loan.is_overdue(date.today()):
                    print(f"{loan.title}: lent to {loan.borrower}, due {loan.due}")
        case _:
            print("usage: shelf lend TITLE BORROWER | shelf due", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
