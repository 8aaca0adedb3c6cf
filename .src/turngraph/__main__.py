"""The `turngraph` command; also `python -m turngraph`."""

from .flows.cli import main

if __name__ == "__main__":
    main()
