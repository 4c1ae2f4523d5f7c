"""How far a study is: counts, faults, and the time that the rest may take."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from harness.results import Study, load_study

FAULTS_SHOWN = 20


@dataclass(frozen=True)
class Status:
    """Planned runs by what became of them; `seconds_left` is None before the first two records."""

    planned: int
    counts: dict[str, int]
    last_record: pd.Timestamp | None
    runs_per_hour: float | None
    seconds_left: float | None
    faults: tuple[str, ...]


def count_status(study: str | Path) -> Status:
    """Read a study and count; raises StudyError where the folder is none."""
    loaded = load_study(study)
    records = loaded.records[loaded.records["planned"]]
    counts = Counter(records["status"])
    left = len(loaded.planned) - len(records)
    pace = _runs_per_hour(records)
    return Status(
        planned=len(loaded.planned),
        counts={
            "ok": counts["ok"],
            "diverged": counts["diverged"],
            "failed": counts["failed"],
            "blocked": counts["blocked"],
            "left": left,
        },
        last_record=None if records.empty else records["finished"].max(),
        runs_per_hour=pace,
        seconds_left=left / pace * 3600 if pace else None,
        faults=tuple(_faults(loaded)),
    )


def _runs_per_hour(records: pd.DataFrame) -> float | None:
    """Measure the pace over the newest records: the breaks between two sessions do not count."""
    finished = records["finished"].dropna().sort_values().tail(50)
    gaps = finished.diff().dt.total_seconds().dropna()
    if gaps.empty:
        return None
    usual = gaps[gaps <= 20 * max(gaps.median(), 1.0)]
    return 3600.0 / max(float(usual.mean()), 1e-3)


def _faults(study: Study) -> list[str]:
    """Group the faults of the runs that are not ok, most frequent first."""
    missing = study.missing
    reasons = Counter(
        f"{row.checkpoint} on {row.task}: {row.reason}"
        for row in missing.itertuples()
        if row.reason != "not run yet"
    )
    lines = [f"{count} x {reason}" for reason, count in reasons.most_common(FAULTS_SHOWN)]
    if len(reasons) > FAULTS_SHOWN:
        lines.append(f"and {len(reasons) - FAULTS_SHOWN} other faults: study.missing has them all")
    return [*(f"skipped: {item.name}: {item.reason}" for item in study.skipped), *lines]
