"""`turngraph session export` and `import`: a session as a file."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import BinaryIO, Literal

from ...nodes.errors import UsageError
from ...tools.secret import environment_secrets
from ...tools.wording import count
from ..export import as_json, as_markdown, read_session
from ..store import Store
from .answer_file import AnswerFile
from .failures import Misuse
from .session import open_store
from .terminal import plain, visible


def export_once(session: str, form: Literal["json", "markdown", "bundle"], file: AnswerFile | None) -> int:
    """Write a session, say what is missing of it, and return the exit code.

    Raises:
        TurngraphError: there is no such session, or the store cannot be read.
    """
    with open_store() as store:
        found = store.find_session(session)
        if file is None:
            written = io.BytesIO()
            notices = _write(store, found, form, written)
            text = written.getvalue().decode("utf-8", "surrogateescape")
            sys.stdout.write(plain(text) if sys.stdout.isatty() else text)
        else:
            try:
                with file.writing(private=True) as private:
                    notices = _write(store, found, form, private)
            except OSError as error:
                print(f"turngraph: {visible(str(file.path))} could not be written: {error.strerror}", file=sys.stderr)
                return 1
    for notice in notices:
        print(f"turngraph: {visible(notice)}", file=sys.stderr)
    return 0


def _write(store: Store, session: str, form: Literal["json", "markdown", "bundle"], file: BinaryIO) -> list[str]:
    """Write the session, and tell what a person should know of it."""
    if form == "bundle":
        exported = store.export_session(session, file, environment_secrets())
        return [f"secrets of the environment left out of {count(exported.redacted, 'row')}"] * bool(exported.redacted)
    history = read_session(store, session, environment_secrets())
    text = f"{json.dumps(as_json(history))}\n" if form == "json" else as_markdown(history)
    file.write(text.encode("utf-8", "backslashreplace"))
    return history.notices


def import_once(path: Path) -> int:
    """Take in a bundle, print the id of its session, say what is lost of it, and return the exit code.

    Raises:
        TurngraphError: it is no bundle, or the store cannot be written.
    """
    with open_store() as store:
        try:
            if str(path) == "-":
                imported = store.import_session(sys.stdin.buffer)
            else:
                with path.open("rb") as file:
                    imported = store.import_session(file)
        except UsageError as error:
            raise UsageError(f"{path} cannot be imported: {error}") from error
        except OSError as error:
            raise Misuse(f"{path} cannot be read: {error.strerror}") from error
    print(imported.session)
    print(f"{count(imported.rows, 'row')} taken in", file=sys.stderr)
    if imported.lost:
        print(f"turngraph: {count(imported.lost, 'row')} of {visible(str(path))} damaged and left out", file=sys.stderr)
    return 0
