"""Runs that start from the weights of other runs come after these, or are blocked by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from harness.execute.kept import drop_weights
from harness.grid import FrozenGrid
from harness.launch.outcome import Outcome
from harness.launch.plan import Plan, make_shards
from harness.ledger import latest_records, read_ledger
from harness.spec import Run

Execute = Callable[[Plan], Outcome]
Block = Callable[[Run], None]
"""Records that a run can't start."""


def run_in_order(made: Plan, workers: int, execute: Execute, block: Block) -> Outcome:
    """Execute a plan, then those that waited for it: each with a source that is ok by now."""
    outcome = _block(made.newly_blocked, block) + execute(made)
    if outcome.interrupted:
        return outcome + Outcome(left=len(made.waiting))
    status = _status(made.study) if made.waiting else {}
    ready = [run for run in made.waiting if status.get(run.source or "") == "ok"]
    # Without a record the source was given up with its worker: the same command tries again.
    left = [run for run in made.waiting if (run.source or "") not in status]
    dead = [run for run in made.waiting if run not in ready and run not in left]
    outcome += _block([run for run in dead if status.get(run.run_id) != "blocked"], block)
    later = replace(made, shards=tuple(make_shards(ready, workers)), waiting=())
    return outcome + execute(later) + Outcome(left=len(left))


def drop_spare_weights(grid: FrozenGrid, study: Path) -> None:
    """Delete the kept weights that no run of the grid waits for any more."""
    if not (study / "weights").is_dir():
        return
    status = _status(study)
    open_ = [run for run in grid.runs() if status.get(run.run_id) in {None, "blocked"}]
    drop_weights(study, {run.source for run in open_ if run.source is not None})


def _block(runs: Sequence[Run], block: Block) -> Outcome:
    for run in runs:
        block(run)
    return Outcome(blocked=len(runs))


def _status(study: Path) -> dict[str, str]:
    return {
        run_id: record["status"] for run_id, record in latest_records(read_ledger(study)).items()
    }
