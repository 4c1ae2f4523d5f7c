"""The records that workers append to a study's ledger, as they come.

The ledger is how a driver learns what its workers did, on one machine or on many.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from harness.launch.outcome import Tally

CHUNK_BYTES = 1 << 16
FOLLOW_SECONDS = 0.3


class LedgerFollower:
    """Reads what is new in a ledger, from the moment that it is made; whole lines only."""

    def __init__(self, study: Path) -> None:
        self._folder = study / "ledger"
        self._offsets = {path: _end_of_last_line(path) for path in self._files()}

    def new_records(self) -> list[dict[str, Any]]:
        """Read the records appended since the last call."""
        records = []
        for path in self._files():
            offset = self._offsets.get(path, 0)
            if path.stat().st_size <= offset:
                continue
            with path.open("rb") as file:
                file.seek(offset)
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._offsets[path] = offset + len(whole)
            records += [json.loads(line) for line in whole.splitlines()]
        return records

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("[!.]*.jsonl"))


def _end_of_last_line(path: Path) -> int:
    """Find the position after the last newline: behind it a record may be half-written."""
    end = path.stat().st_size
    with path.open("rb") as file:
        while end > 0:
            start = max(0, end - CHUNK_BYTES)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
    return 0


class Progress:
    """Follows the ledger in a thread, so that progress is the same on one machine and on many."""

    def __init__(self, study: Path, tally: Tally, stop: threading.Event) -> None:
        self.tally = tally
        self._follower = LedgerFollower(study)
        self._stop = stop
        self._lock = threading.Lock()
        self._finished = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._follow, name="ledger", daemon=True)

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        self.catch_up()

    def catch_up(self) -> None:
        """Take what is new in the ledger."""
        with self._lock:
            self.tally.add(self._follower.new_records())

    def _follow(self) -> None:
        try:
            while not self._finished.wait(FOLLOW_SECONDS):
                self.catch_up()
        except (
            BaseException
        ) as error:  # a damaged ledger, or `on_record`: raised again in the main thread
            self._error = error
            self._stop.set()
