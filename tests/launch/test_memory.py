"""Workers that Ray kills for memory: their runs have a record, and the others go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.execute import Workplace
from harness.launch.outcome import Outcome
from harness.launch.plan import Plan, make_plan
from harness.launch.tune import run_tune
from harness.ledger import latest_records, read_ledger
from harness.spec import Run
from tests.launch.recording import recording, workplace_in
from tests.small_study import SST2, checkpoint_named, small_grid

pytestmark = pytest.mark.slow

MARGIN, HUNGER = 2 << 30, 4 << 30
"""Bytes that may be used beyond what is in use now, and that a run uses."""


def four_runs(study: Path) -> Plan:
    grid = small_grid(tasks=(SST2,), checkpoints=(checkpoint_named("one", "a" * 16),), seeds=(0, 1))
    return make_plan(grid, study)


def memory() -> dict[str, int]:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}


def hungry(at: str) -> Any:
    """Make a class of executors that need much memory for one run."""
    recorder = recording()

    class Hungry:
        def __init__(self, workplace: Workplace, before_commit: Callable[[], None]) -> None:
            self.recorder = recorder(workplace, before_commit)

        def execute(self, run: Run) -> Mapping[str, Any]:
            if run.run_id == at:
                kept = bytearray(b"x") * HUNGER
                time.sleep(60)
                del kept
            record: Mapping[str, Any] = self.recorder.execute(run)
            return record

    return Hungry


def test_a_run_that_needs_too_much_memory_is_recorded_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = memory()
    if now["MemAvailable"] < MARGIN + HUNGER:
        pytest.skip("needs 6 GB of free memory")
    share = 1 - (now["MemAvailable"] - MARGIN) / now["MemTotal"]
    monkeypatch.setenv("RAY_memory_usage_threshold", f"{share:.4f}")
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "50")
    plan = four_runs(tmp_path)
    guilty = plan.runs[1].run_id
    outcome = run_tune(plan, workplace_in(tmp_path), workers=1, make_worker=hungry(guilty))
    assert outcome == Outcome(ok=3, failed=1)
    error = latest_records(read_ledger(tmp_path))[guilty]["error"]
    assert error["type"] == "WorkerDied"
    assert error["message"].startswith("killed for memory: ")


def test_workers_killed_before_their_first_run_are_no_silent_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_memory_usage_threshold", "0.001")
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "50")
    outcome = run_tune(
        four_runs(tmp_path), workplace_in(tmp_path), workers=1, make_worker=recording()
    )
    assert outcome == Outcome(failed=4)  # two shards of two
    for record in read_ledger(tmp_path):
        assert record["error"]["message"].startswith("killed for memory: ")
