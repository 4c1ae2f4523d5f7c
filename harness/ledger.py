"""The records of a study: append-only, one JSON object a line, one file a writer.

A record is a run's commit point: it is appended last, whole, by one `os.write`, and synced. A
writer that is killed leaves at most one torn line, the last of its file, which readers ignore.
Nobody writes to a file of somebody else, so there are no locks, and several drivers on several
machines may share a study.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.errors import StudyError

RECORD_KEYS = (
    "run_id", "status", "task", "kind", "checkpoint", "fingerprint", "attention", "pooling",
    "sees_future", "recipe", "seed", "protocol", "scores", "collapsed", "main_metric", "splits",
    "data_source", "counts", "steps", "seconds", "threads", "device", "precision", "versions",
    "host", "writer", "started", "finished", "error",
)  # fmt: skip
"""All keys that a record may have; what a run does not have (scores, error) is left out."""

STATUSES = ("ok", "diverged", "failed")
_ALWAYS = ("run_id", "status", "finished")


class LedgerWriter:
    """Appends records to a file of its own in `<study>/ledger`; for one process."""

    def __init__(self, study: Path) -> None:
        self._folder = Path(study) / "ledger"
        self._descriptor: int | None = None
        self.writer = _writer_name()

    def __enter__(self) -> LedgerWriter:
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
        """The file of this writer; it exists from the first record on."""
        return self._folder / f"{self.writer}.jsonl"

    def append(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Write a record, with the writer's name in it, and return it once it is on the disk.

        Raises:
            ValueError: a key is unknown or missing, or a number is not finite; nothing is written.
            OSError: the disk is full or lost; what was torn is left behind in a file of its own.
        """
        complete = {**record, "writer": self.writer}
        _check(complete)
        line = json.dumps(complete, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        try:
            self._write(line)
        except BaseException:
            # A later record must not follow a torn line: it goes to a new file.
            self.close()
            raise
        return complete

    def append_all(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write finished records at once, synced once: for results that were made elsewhere.

        Raises:
            ValueError, OSError: as `append`.
        """
        lines = []
        for record in records:
            complete = {**record, "writer": self.writer}
            _check(complete)
            lines.append(json.dumps(complete, allow_nan=False, separators=(",", ":")) + "\n")
        try:
            self._write("".join(lines).encode())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; a record appended later begins a new one."""
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


def read_ledger(study: Path) -> list[dict[str, Any]]:
    """Read all records of a study, in the order in which they were finished, then by writer.

    Raises:
        StudyError: there is no such study, or a line that is not the last of its file is damaged.
    """
    study = Path(study)
    if not study.is_dir():
        raise StudyError(f"{study}: no such study folder; `harness run --study` makes one")
    records: list[dict[str, Any]] = []
    for path in sorted((study / "ledger").glob("[!.]*.jsonl")):
        records.extend(_read_file(path))
    records.sort(key=lambda record: (record["finished"], record.get("writer", "")))
    return records


def latest_records(records: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Keep one record a run, the last; but none that is not ok displaces one that is."""
    latest: dict[str, dict[str, Any]] = {}
    for record in records:
        older = latest.get(record["run_id"])
        if older is None or older["status"] != "ok" or record["status"] == "ok":
            latest[record["run_id"]] = record
    return latest


def good_run_ids(study: Path) -> set[str]:
    """Collect the ids of the runs that have an ok record: they need not run again.

    Raises:
        StudyError: as `read_ledger`.
    """
    return {record["run_id"] for record in read_ledger(study) if record["status"] == "ok"}


def _writer_name() -> str:
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()).lstrip(".") or "host"
    return f"{host}-{os.getpid()}-{secrets.token_hex(4)}"


def _check(record: Mapping[str, Any]) -> None:
    if unknown := sorted(record.keys() - set(RECORD_KEYS)):
        raise ValueError(f"a record has no key {unknown[0]!r}; new ones go into RECORD_KEYS first")
    if missing := [key for key in _ALWAYS if key not in record]:
        raise ValueError(f"a record needs the key {missing[0]!r}")
    if record["status"] not in STATUSES:
        raise ValueError(f"status {record['status']!r} is none of {', '.join(STATUSES)}")


def _read_file(path: Path) -> list[dict[str, Any]]:
    try:
        *lines, rest = path.read_bytes().split(b"\n")
    except OSError as error:
        raise StudyError(f"{path}: can't be read: {error}") from None
    records = []
    for number, line in enumerate(lines, start=1):
        record = _parse(line)
        if record is None:
            raise StudyError(
                f"{path}:{number}: is no whole record; delete this line, and `harness run` does "
                "what it stood for again"
            )
        records.append(record)
    # Without its line feed the last line is torn, unless only that is lacking.
    last = _parse(rest)
    return records if last is None else [*records, last]


def _parse(line: bytes) -> dict[str, Any] | None:
    """Read a line; None where it is not a whole record."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if isinstance(record, dict) and all(isinstance(record.get(key), str) for key in _ALWAYS):
        return record
    return None
