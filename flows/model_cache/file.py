"""The file of the model cache: one record a line, only added to; what is damaged costs itself and nothing else."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_core import from_json, to_json

from ...nodes.errors import StoreError, UsageError
from ...nodes.reply import encodable_data
from ...nodes.request_log import logger
from ...tools.secret import environment_secrets
from ...tools.wording import count
from .question import Request

SCHEMA = 1
_START = b'{"schema":'
_REQUEST = TypeAdapter(Request)


class CacheFile:
    """What a file holds when it is opened, and a way to add to it. `skipped` counts the damaged lines."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path = path
        self.skipped = 0
        self._places: dict[tuple[str, int], tuple[int, int]] = {}
        try:
            descriptor = self._open(os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT)
            with os.fdopen(descriptor, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)  # nobody is in the middle of a record now
                size = os.fstat(file.fileno()).st_size
                fcntl.flock(file, fcntl.LOCK_UN)
                self._read(file, size)
        except OSError as error:
            raise UsageError(
                f"the model cache {path} cannot be opened ({error.strerror}); check its path and permissions"
            ) from error
        if self.skipped:
            logger.warning("the model cache %s: %s skipped", path, count(self.skipped, "damaged line"))

    def find(self, key: str, number: int) -> ModelResponse | None:
        """The reply that was recorded for the `number`-th request of this key."""
        place = self._places.get((key, number))
        if place is None:
            return None
        try:
            record = _parse(self._bytes(*place))
            if record is not None and (record["key"], record["number"]) == (key, number):
                (response,) = ModelMessagesTypeAdapter.validate_json(to_json([record["response"]]))
                if isinstance(response, ModelResponse):
                    return response
        except (OSError, ValidationError) as error:
            reason = str(error).splitlines()[0]
        else:
            reason = "the file changed"
        logger.warning("the model cache %s: a record cannot be read and counts as missing (%s)", self.path, reason)
        return None

    def times(self, key: str) -> int:
        """How often a request of this key was recorded."""
        return sum(found == key for found, _ in self._places)

    def requests(self) -> Iterator[Request]:
        """What was asked, of each record that says so, in the order of the file."""
        for place in self._places.values():
            try:
                record = _parse(self._bytes(*place))
                if record is not None:
                    yield _REQUEST.validate_python(record["request"])
            except (OSError, ValidationError):
                continue  # it helps to explain a miss, and that is all

    def add(self, key: str, number: int, request: Request, response: ModelResponse) -> None:
        """Add one record, in one write and after whatever stands at the end of the file, whole or torn.

        Raises:
            StoreError: it could not be written.
        """
        (reply,) = ModelMessagesTypeAdapter.dump_python([response], mode="json", warnings=False, fallback=str)
        record = {"schema": SCHEMA, "key": key, "number": number, "request": asdict(request), "response": reply}
        safe = environment_secrets().redact_data(encodable_data(record))
        line = json.dumps(safe, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            descriptor = self._open(os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                size = os.fstat(descriptor).st_size
                if size and os.pread(descriptor, 1, size - 1) != b"\n":
                    line = b"\n" + line
                written = os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._unwritten(error.strerror or str(error)) from error
        if written < len(line):
            raise self._unwritten("the disk is full")

    def _unwritten(self, why: str) -> StoreError:
        return StoreError(
            f"the reply could not be written to the model cache {self.path} ({why}); free some space or name "
            "another file"
        )

    def _open(self, flags: int) -> int:
        descriptor = os.open(self.path, flags | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is no regular file")
        return descriptor

    def _read(self, lines: Iterable[bytes], size: int) -> None:
        position, foreign = 0, False
        for line in lines:
            start, position = position, position + len(line)
            if start >= size:
                break  # it was added since
            kept = line.strip(b"\0\r\n\t ")
            if not kept:
                self.skipped += b"\0" in line
                continue
            record = _parse(kept)
            if record is None:
                self.skipped += 1
                foreign = foreign or not (kept.startswith(_START) or _START.startswith(kept))
                continue
            self._check_version(record["schema"])
            self._places[record["key"], record["number"]] = (start, len(line))
        if foreign and not self._places:
            raise UsageError(f"{self.path} holds something else than a model cache; name another file")

    def _check_version(self, version: int) -> None:
        if version > SCHEMA:
            raise UsageError(
                f"the model cache {self.path} has version {version}, of a newer turngraph, and this one knows up to "
                f"{SCHEMA}; upgrade turngraph or name another file"
            )

    def _bytes(self, start: int, length: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(start)
            return file.read(length).strip(b"\0\r\n\t ")


def _parse(line: bytes) -> dict[str, Any] | None:
    """A record as it stands in a line, or `None`; of a newer version only its number is looked at."""
    try:
        record = from_json(line)
    except ValueError:
        return None
    match record:
        case {"schema": int(version)} if version > SCHEMA:
            return record
        case {"schema": int(), "key": str(), "number": int(), "request": dict(), "response": dict()}:
            return record
        case _:
            return None
