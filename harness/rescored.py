"""Scores that were computed after their run: kept beside the ledger, which is never rewritten.

A line of `<study>/rescored/<writer>.jsonl` adds scores to one record, known by its `run_id` and
its `finished`: a run that is executed again gets a record of its own, without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.journal import Journal, read_journals
from harness.version import __version__

Record = dict[str, Any]

_ALWAYS = ("run_id", "finished", "computed", "writer")
_REMEDY = "delete this line, and `harness rescore` computes it again"


class RescoredWriter(Journal):
    """Appends scores to a file of its own in `<study>/rescored`; for one process."""

    def __init__(self, study: Path) -> None:
        super().__init__(Path(study) / "rescored")

    def add(
        self, record: Mapping[str, Any], scores: Mapping[str, Mapping[str, float]], computed: str
    ) -> None:
        """Append scores ({split: {metric: value}}) of a record; `computed` is the time, as text.

        Raises:
            ValueError: a score is not finite; nothing is written.
            OSError: the disk is full or lost.
        """
        self.append(
            {
                "run_id": record["run_id"],
                "finished": record["finished"],
                "computed": computed,
                "scores": scores,
                "harness": __version__,
            }
        )


def add_rescored(study: Path, records: list[Record]) -> None:
    """Put into ok records, in place, the scores that were computed later; the latest ones count.

    Raises:
        StudyError: a line is damaged.
    """
    entries = read_journals(study / "rescored", _ALWAYS, _REMEDY)
    if not entries:
        return
    by_key: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record["status"] == "ok":
            by_key.setdefault((record["run_id"], record["finished"]), []).append(record)
    for entry in sorted(entries, key=lambda entry: (entry["computed"], entry["writer"])):
        for record in by_key.get((entry["run_id"], entry["finished"]), ()):
            for split, values in entry["scores"].items():
                record.setdefault("scores", {}).setdefault(split, {}).update(values)
