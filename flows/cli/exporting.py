"""`turngraph session export`: a session as a file."""

from __future__ import annotations

import json
import sys
from typing import Literal

from ...tools.secret import environment_secrets
from ..export import as_json, as_markdown, read_session
from .answer_file import AnswerFile
from .session import open_store
from .terminal import plain, visible


def export_once(session: str, form: Literal["json", "markdown"], file: AnswerFile | None) -> int:
    """Write a session, say what is missing of it, and return the exit code.

    Raises:
        TurngraphError: there is no such session, or the store cannot be read.
    """
    with open_store() as store:
        exported = read_session(store, store.find_session(session), environment_secrets())
    text = json.dumps(as_json(exported)) + "\n" if form == "json" else as_markdown(exported)
    if file is None:
        sys.stdout.write(plain(text) if sys.stdout.isatty() else text)
    else:
        try:
            with file.writing(private=True) as private:
                private.write(text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            print(f"turngraph: {visible(str(file.path))} could not be written: {error.strerror}", file=sys.stderr)
            return 1
    for notice in exported.notices:
        print(f"turngraph: {visible(notice)}", file=sys.stderr)
    return 0
