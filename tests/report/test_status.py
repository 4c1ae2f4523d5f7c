from __future__ import annotations

import pytest

from harness.report.status import count_status
from tests.small_study import diverged, failed, record_of, small_grid, write_study


def finished_at(run, second):
    return record_of(run, 0.5, 0.5, finished=f"2025-01-02T03:04:{second:02d}+00:00")


def test_runs_are_counted_by_what_became_of_them(tmp_path):
    grid = small_grid(skipped=({"name": "broken", "reason": "no tokenizer.json"},))
    runs = grid.runs()
    records = [record_of(runs[0], 0.5, 0.5), diverged(runs[1], 3), failed(runs[2], "no room")]
    status = count_status(write_study(tmp_path, grid, records))
    assert status.planned == 24
    assert status.counts == {"ok": 1, "diverged": 1, "failed": 1, "blocked": 0, "left": 21}
    assert status.faults == (
        "skipped: broken: no tokenizer.json",
        "1 x mlm_40 on sst2: diverged at step 3",
        "1 x mlm_40 on sst2: failed: RunError: no room",
    )


def test_the_time_left_follows_from_the_pace(tmp_path):
    grid = small_grid()
    runs = grid.runs()
    records = [finished_at(run, 10 * n) for n, run in enumerate(runs[:4])]
    status = count_status(write_study(tmp_path, grid, records))
    assert status.runs_per_hour == pytest.approx(360)
    assert status.seconds_left == pytest.approx(200)


def test_a_study_without_records_has_no_pace(tmp_path):
    status = count_status(write_study(tmp_path, small_grid()))
    assert status.counts["left"] == 24
    assert (status.last_record, status.runs_per_hour, status.seconds_left) == (None, None, None)
