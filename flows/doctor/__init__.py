"""What is configured, which model would answer and why, what is missing, and the command that mends it.

Every section looks for itself and reports its own failures, so the report comes also where everything is broken.
Nothing is written, and no server is asked, unless that is wanted.
"""

from .examine import examine
from .report import Line, Report, Section, Status

__all__ = ["Line", "Report", "Section", "Status", "examine"]
