"""A plain loop executes the shards of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.execute import WorkerLostError
from harness.launch.local import run_local
from harness.launch.outcome import Outcome
from harness.launch.plan import make_plan
from harness.ledger import LedgerWriter, read_ledger
from tests.launch.recording import recording, workplace_in
from tests.small_study import record_of, small_grid


def test_all_runs_are_executed_in_the_order_of_the_shards(tmp_path: Path) -> None:
    plan = make_plan(small_grid(), tmp_path)
    seen: list[str] = []
    outcome = run_local(
        plan,
        workplace_in(tmp_path),
        lambda record: seen.append(record["run_id"]),
        make_worker=recording(),
    )
    assert outcome == Outcome(ok=24)
    assert seen == [run.run_id for run in plan.runs]


def test_ctrl_c_ends_the_loop_and_the_next_command_does_the_rest(tmp_path: Path) -> None:
    plan = make_plan(small_grid(), tmp_path)

    def interrupt(record: Mapping[str, Any]) -> None:
        if record["run_id"] == plan.runs[4].run_id:
            raise KeyboardInterrupt

    outcome = run_local(plan, workplace_in(tmp_path), interrupt, make_worker=recording())
    assert outcome == Outcome(ok=5, left=19, interrupted=True)
    rest = make_plan(small_grid(), tmp_path)
    assert rest.done == 5
    assert run_local(rest, workplace_in(tmp_path), make_worker=recording()) == Outcome(ok=19)
    assert set(Counter(item["run_id"] for item in read_ledger(tmp_path)).values()) == {1}


def test_a_lost_device_ends_the_loop_with_an_error(tmp_path: Path) -> None:
    plan = make_plan(small_grid(), tmp_path)
    worker = recording(breaks_at=plan.runs[1].run_id)
    with pytest.raises(WorkerLostError, match="CUDA error"):
        run_local(plan, workplace_in(tmp_path), make_worker=worker)
    assert [item["status"] for item in read_ledger(tmp_path)] == ["ok", "failed"]


def test_a_run_that_another_driver_has_done_meanwhile_is_told_and_not_repeated(
    tmp_path: Path,
) -> None:
    plan = make_plan(small_grid(), tmp_path)
    third = plan.runs[2]
    seen: list[str] = []

    def note(record: Mapping[str, Any]) -> None:
        seen.append(record["run_id"])
        if len(seen) == 1:
            with LedgerWriter(tmp_path) as another:
                another.append(record_of(third, 0.5, 0.5))

    outcome = run_local(plan, workplace_in(tmp_path), note, make_worker=recording())
    assert outcome == Outcome(ok=24)
    assert sorted(seen) == sorted(run.run_id for run in plan.runs)
    assert set(Counter(item["run_id"] for item in read_ledger(tmp_path)).values()) == {1}
