"""The `turngraph` command; also `python -m turngraph`."""

import sys

from .flows.cli import main

if __name__ == "__main__":
    # `python -m` searches the working directory first, and a repository may hold a `rich` or an `openai` of its own.
    if not sys.flags.safe_path:
        del sys.path[0]
    main()
