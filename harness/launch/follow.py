"""The records that workers append to a study's ledger, as they come.

The ledger is how a driver learns what its workers did, on one machine or on many.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.launch.outcome import Tally
from harness.spec import Run

FOLLOW_SECONDS = 0.3


class LedgerFollower:
    """Reads what is new in a ledger; whole lines only."""

    def __init__(self, study: Path) -> None:
        self._folder = study / "ledger"
        self._offsets: dict[Path, int] = {}

    def new_records(self) -> list[dict[str, Any]]:
        """Read the records appended since the last call; the first call gives all."""
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


class Turns:
    """The runs that a worker has before it, less those that somebody else has done meanwhile.

    Workers of two drivers that have the same runs before them would stay side by side, since a
    record comes too late for who has begun its run: the one who ends second goes on from the other
    end. `on_good` is called with every ok record of the study, own ones included.
    """

    def __init__(
        self, study: Path, on_good: Callable[[Mapping[str, Any]], None] = lambda _: None
    ) -> None:
        self._follower = LedgerFollower(study)
        self._on_good = on_good
        self._good: Counter[str] = Counter()
        self._left: deque[Run] = deque()
        self._last = ""

    def __len__(self) -> int:
        return len(self._left)

    def begin(self, runs: Iterable[Run]) -> None:
        """Take other runs."""
        self._left = deque(runs)
        self._last = ""

    def next(self) -> Run | None:
        """Give the next run that has no ok record by now; None where there is none."""
        for record in _good(self._follower.new_records()):
            self._good[record["run_id"]] += 1
            self._on_good(record)
        if self._good[self._last] > 1:
            self._left.reverse()
        while self._left:
            run = self._left.popleft()
            if not self._good[run.run_id]:
                self._last = run.run_id
                return run
        return None


class Progress:
    """Follows the ledger in a thread, so that progress is the same on one machine and on many.

    An ok record that is there before belongs to another driver, and is younger than the plan.
    """

    def __init__(self, study: Path, tally: Tally, stop: threading.Event) -> None:
        self.tally = tally
        self._follower = LedgerFollower(study)
        self._stop = stop
        self._lock = threading.Lock()
        self._finished = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._follow, name="ledger", daemon=True)

    def __enter__(self) -> Progress:
        self.tally.add(_good(self._follower.new_records()))
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


def _good(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["status"] == "ok"]
