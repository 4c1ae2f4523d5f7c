"""One driver of a machine at a time works on a study: `<study>/driver.json` says which.

Nothing is broken by a second one, since a record is whole or not there; but it would do again what
the first one has in flight. A driver of another machine can't be watched, so it is no reason to
wait: workers look at the ledger before each run (`harness.launch.follow.Turns`).
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from harness.errors import StudyError
from harness.launch.lifeline import Process, is_alive, this_process

DRIVER_FILE = "driver.json"


@contextmanager
def hold_study(study: Path) -> Iterator[None]:
    """Be the driver of a study on this machine; the folder is made where there is none.

    Raises:
        StudyError: another driver of this machine works on it, or the folder can't be written.
    """
    path = study / DRIVER_FILE
    me = this_process()
    try:
        study.mkdir(parents=True, exist_ok=True)
        _claim(path, json.dumps({"host": socket.gethostname(), **asdict(me)}) + "\n")
    except OSError as error:
        raise StudyError(f"{study}: can't be written: {error}") from None
    try:
        yield
    finally:
        if _holder(path) == me:  # a driver of another machine may have come after us
            path.unlink(missing_ok=True)


def _claim(path: Path, text: str) -> None:
    """Write the file whole: a new one, or in the place of a dead driver's or another machine's."""
    scratch = path.with_name(f".{DRIVER_FILE}.{os.getpid()}")
    try:
        scratch.write_text(text, encoding="utf-8")
        try:
            os.link(scratch, path)  # one of several that start together wins
        except OSError:  # there is a file, or no hard links
            _refuse_another(path)
            scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _refuse_another(path: Path) -> None:
    holder = _holder(path)
    if holder is not None and is_alive(holder):
        raise StudyError(
            f"{path.parent}: another harness run (pid {holder.pid}) is working on this study; "
            "wait for it or stop it"
        )


def _holder(path: Path) -> Process | None:
    """Read who holds a study; None where nobody does, or the file says nothing."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        return Process(space=entry["space"], pid=entry["pid"], started=entry["started"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
