from datetime import date

from shelf.loan import Loan
from shelf.storage import format_line, parse

LOAN = Loan("Middlemarch", "Sam", date(2026, 3, 2))


def test_a_loan_is_overdue_after_four_weeks():
    assert not LOAN.is_overdue(date(2026, 3, 30))
    assert LOAN.is_overdue(date(2026, 3, 31))


def test_a_line_reads_back_as_the_loan_it_was_written_from():
    assert parse(format_line(LOAN)) == LOAN


# TODO: test an empty list
