"""The records of a study: append-only, one JSON object a line, one file a writer.

A record is a run's commit point: it is appended last, whole, as `journal` says, so that workers on
several machines may share a study. Nothing here keeps two drivers from one run: that is for
`harness.launch` to see to (one driver a machine; each run is looked up before it begins), and where
a run was done twice all the same, `latest_records` keeps one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.errors import StudyError
from harness.journal import Journal, read_journals
from harness.rescored import add_rescored

RECORD_KEYS = (
    "run_id", "status", "task", "kind", "checkpoint", "fingerprint", "attention", "pooling",
    "sees_future", "recipe", "seed", "protocol", "scores", "collapsed", "main_metric", "splits",
    "data_source", "counts", "steps", "seconds", "threads", "device", "precision", "versions",
    "host", "writer", "started", "finished", "error", "source",
)  # fmt: skip
"""All keys that a record may have; what a run does not have (scores, error) is left out."""

STATUSES = ("ok", "diverged", "failed", "blocked")
_ALWAYS = ("run_id", "status", "finished")
_REMEDY = "delete this line, and `harness run` does what it stood for again"


class LedgerWriter(Journal):
    """Appends records to a file of its own in `<study>/ledger`; for one process."""

    def __init__(self, study: Path) -> None:
        super().__init__(Path(study) / "ledger")

    def append(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Write a record, with the writer's name in it, and return it once it is on the disk.

        Raises:
            ValueError: a key is unknown or missing, or a number is not finite; nothing is written.
            OSError: the disk is full or lost; what was torn is left behind in a file of its own.
        """
        _check(record)
        return super().append(record)

    def append_all(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write finished records at once, synced once: for results that were made elsewhere.

        Raises:
            ValueError, OSError: as `append`.
        """
        checked = list(records)
        for record in checked:
            _check(record)
        super().append_all(checked)


def read_ledger(study: Path) -> list[dict[str, Any]]:
    """Read all records of a study, in the order in which they were finished, then by writer.

    Scores that `harness rescore` computed later are in them.

    Raises:
        StudyError: there is no such study, or a line that is not the last of its file is damaged.
    """
    study = Path(study)
    if not study.is_dir():
        raise StudyError(f"{study}: no such study folder; `harness run --study` makes one")
    records = read_journals(study / "ledger", _ALWAYS, _REMEDY)
    add_rescored(study, records)
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


def _check(record: Mapping[str, Any]) -> None:
    if unknown := sorted(record.keys() - set(RECORD_KEYS)):
        raise ValueError(f"a record has no key {unknown[0]!r}; new ones go into RECORD_KEYS first")
    if missing := [key for key in _ALWAYS if key not in record]:
        raise ValueError(f"a record needs the key {missing[0]!r}")
    if record["status"] not in STATUSES:
        raise ValueError(f"status {record['status']!r} is none of {', '.join(STATUSES)}")
