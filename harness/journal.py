"""Append-only files of JSON objects: one object a line, one file a writer.

An object is appended whole, by one `os.write`, and synced. A writer that is killed leaves at most
one torn line, the last of its file, which readers ignore. Nobody writes to a file of somebody else,
so there are no locks, and several processes on several machines may write into one folder.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness.errors import StudyError


class Journal:
    """Appends objects to a file of its own in a folder; for one process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None
        self.writer = _writer_name()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The file of this writer; it exists from the first object on."""
        return self._folder / f"{self.writer}.jsonl"

    def append(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Write an object, with the writer's name in it, and return it once it is on the disk.

        Raises:
            ValueError: a number is not finite; nothing is written.
            OSError: the disk is full or lost; what was torn is left behind in a file of its own.
        """
        complete = {**entry, "writer": self.writer}
        self._append_lines([complete])
        return complete

    def append_all(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Write objects at once, synced once.

        Raises:
            ValueError, OSError: as `append`.
        """
        self._append_lines([{**entry, "writer": self.writer} for entry in entries])

    def _append_lines(self, entries: Sequence[Mapping[str, Any]]) -> None:
        lines = [json.dumps(entry, allow_nan=False, separators=(",", ":")) for entry in entries]
        try:
            self._write("".join(f"{line}\n" for line in lines).encode())
        except BaseException:
            # A later object must not follow a torn line: it goes to a new file.
            self.close()
            raise

    def close(self) -> None:
        """Close the file; an object appended later begins a new one."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            self.writer = _writer_name()

    def _open(self) -> int:
        self._folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        descriptor = os.open(self.path, flags, 0o644)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return descriptor

    def _write(self, line: bytes) -> None:
        if self._descriptor is None:
            self._descriptor = self._open()
        written = os.write(self._descriptor, line)
        if written != len(line):
            raise OSError(f"{self.path}: only {written} of {len(line)} bytes could be written")
        os.fsync(self._descriptor)


def read_journals(folder: Path, needed: Sequence[str], remedy: str) -> list[dict[str, Any]]:
    """Read all objects of a folder, file by file; a folder that is not there has none.

    Each object has a text under every key in `needed`; `remedy` says what to do where one has not.

    Raises:
        StudyError: a line that is not the last of its file is damaged.
    """
    entries: list[dict[str, Any]] = []
    for path in sorted(folder.glob("[!.]*.jsonl")):
        entries.extend(_read_file(path, needed, remedy))
    return entries


def _read_file(path: Path, needed: Sequence[str], remedy: str) -> list[dict[str, Any]]:
    try:
        *lines, rest = path.read_bytes().split(b"\n")
    except OSError as error:
        raise StudyError(f"{path}: can't be read: {error}") from None
    entries = []
    for number, line in enumerate(lines, start=1):
        entry = _parse(line, needed)
        if entry is None:
            raise StudyError(f"{path}:{number}: is no whole record; {remedy}")
        entries.append(entry)
    # Without its line feed the last line is torn, unless only that is lacking.
    last = _parse(rest, needed)
    return entries if last is None else [*entries, last]


def _parse(line: bytes, needed: Sequence[str]) -> dict[str, Any] | None:
    """Read a line; None where it is not a whole object."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in needed):
        return entry
    return None


def _writer_name() -> str:
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()).lstrip(".") or "host"
    return f"{host}-{os.getpid()}-{secrets.token_hex(4)}"
