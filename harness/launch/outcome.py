"""What came of executing a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

OnRecord = Callable[[Mapping[str, Any]], None]
"""Called with every new record of the plan, once a run, in the order of their coming."""


@dataclass(frozen=True)
class Outcome:
    """Runs by what became of them; `left` have no record: an interruption, or workers that died."""

    ok: int = 0
    diverged: int = 0
    failed: int = 0
    blocked: int = 0
    left: int = 0
    interrupted: bool = False

    def __add__(self, other: Outcome) -> Outcome:
        """Add up two outcomes of different runs."""
        return Outcome(
            ok=self.ok + other.ok,
            diverged=self.diverged + other.diverged,
            failed=self.failed + other.failed,
            blocked=self.blocked + other.blocked,
            left=self.left + other.left,
            interrupted=self.interrupted or other.interrupted,
        )


class Tally:
    """Counts the records of a plan's runs and passes each on, once."""

    def __init__(self, run_ids: Iterable[str], on_record: OnRecord | None) -> None:
        self._open = set(run_ids)
        self._states: Counter[str] = Counter()
        self._on_record = on_record

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Take new records; those of other plans' runs, and second ones, are passed over."""
        for record in records:
            if record["run_id"] in self._open:
                self._open.remove(record["run_id"])
                self._states[record["status"]] += 1
                if self._on_record is not None:
                    self._on_record(record)

    def is_open(self, run_id: str) -> bool:
        """Say whether a run has no record yet."""
        return run_id in self._open

    def outcome(self, *, interrupted: bool = False) -> Outcome:
        """Sum up."""
        return Outcome(**self._states, left=len(self._open), interrupted=interrupted)
