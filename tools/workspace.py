"""The one door to the file system: every path a tool takes goes through a `Workspace`."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pydantic_ai.exceptions import ToolFailed

from .gitdir import belongs_to_git
from .version import Version


@dataclass
class Workspace:
    """A directory that tools may touch and never leave.

    It remembers the version in which a file was last read, so that nothing is overwritten that was never seen. The
    memory is this object's own: another toolset starts with none.

    Raises:
        NotADirectoryError: the root is no directory.
        FileNotFoundError: the root does not exist.
    """

    root: Path
    _seen: dict[Path, Version] = field(default_factory=dict[Path, Version], repr=False)

    def __post_init__(self) -> None:
        self.root = self.root.resolve(strict=True)
        if not self.root.is_dir():
            raise NotADirectoryError(f"the workspace {self.root} is not a directory")

    def resolve(self, path: str) -> Path:
        """The real path that a tool's argument names, all symlinks followed; it need not exist.

        Raises:
            ToolFailed: it lies outside the workspace, or is no path at all.
        """
        if not path or "\0" in path:
            raise ToolFailed(f"{path!r} is not a path; give one relative to the workspace, such as 'src/main.py'.")
        given = Path(path).expanduser() if path == "~" or path.startswith("~/") else Path(path)
        try:
            real = (self.root / given).resolve()
        except UnicodeEncodeError:
            raise ToolFailed(f"{path!r} holds characters that no file name can hold; correct the path.") from None
        except RuntimeError as error:
            raise ToolFailed(f"{path!r} cannot be resolved: {error}; give another path.") from None
        if not real.is_relative_to(self.root):
            leads = f" (it leads to {real})" if real != self.root / given else ""
            raise ToolFailed(f"{path!r} is outside the workspace {self.root}{leads}; only paths inside it can be used.")
        _reach(real, self.display(real))
        return real

    def directory(self, path: str) -> Path:
        """The real path of an existing directory.

        Raises:
            ToolFailed: it does not exist, is no directory, or lies outside the workspace.
        """
        real = self.resolve(path)
        if real.is_dir():
            return real
        name = self.display(real)
        if real.exists():
            raise ToolFailed(f"{name} is a file, not a directory; use read_file to see it.")
        raise ToolFailed(f"There is no directory {name}; {self._nearest(real)}.")

    def open(self, path: str) -> tuple[Path, BinaryIO]:
        """Open a regular file for reading. The caller closes it.

        Raises:
            ToolFailed: there is no such file, it is a directory or special, unreadable, or outside the workspace.
        """
        real = self.resolve(path)
        name = self.display(real)
        try:
            # O_NONBLOCK: a FIFO must not wait for its writer; O_NOFOLLOW: the path was resolved already.
            descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise ToolFailed(f"There is no file {name}; {self._nearest(real)}.") from None
        except PermissionError:
            raise ToolFailed(f"{name} may not be read: permission denied.") from None
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            return real, os.fdopen(descriptor, "rb")
        os.close(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise ToolFailed(f"{name} is a directory; use list_dir to see what it holds.")
        raise ToolFailed(f"{name} is not a regular file (a device, pipe or socket) and cannot be read as text.")

    def display(self, path: Path) -> str:
        """The path as it is shown: relative to the root, posix, whatever cannot be printed escaped."""
        return printable(path.relative_to(self.root).as_posix())

    def writable(self, path: str) -> Path:
        """The real path of a file that a tool may write; it need not exist.

        Raises:
            ToolFailed: it lies outside the workspace, or belongs to git.
        """
        real = self.resolve(path)
        if belongs_to_git(real, self.root):
            raise ToolFailed(
                f"{self.display(real)} belongs to git, which runs what is written there; use git through bash instead."
            )
        return real

    def saw(self, real: Path, version: Version) -> None:
        """Remember the version in which a file was read or written."""
        self._seen[real] = version

    def seen(self, real: Path) -> Version | None:
        """The version in which a file was last read or written, if it was."""
        return self._seen.get(real)

    def _nearest(self, real: Path) -> str:
        parent = next(parent for parent in real.parents if parent.is_dir())
        return f"list_dir('{self.display(parent)}') shows what exists"


def printable(name: str) -> str:
    """A file's name as one line of JSON-able text: control characters and undecodable bytes are escaped."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in name)


def _reach(real: Path, name: str) -> None:
    """Look at a path once, so that what the system says about the path itself becomes a refusal."""
    try:
        mode = real.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if error.errno not in (errno.ENAMETOOLONG, errno.EACCES, errno.ELOOP):
            raise
        raise ToolFailed(f"{name[:200]} cannot be reached: {error.strerror}; give another path.") from None
    if stat.S_ISLNK(mode):
        raise ToolFailed(f"{name} is a symlink that leads nowhere but to itself; give another path.")
