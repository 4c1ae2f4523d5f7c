"""What is kept of a run."""

from __future__ import annotations

import math
import time
from pathlib import Path

from harness.errors import DivergedError
from harness.execute import Workplace, write_lost_run
from harness.execute.record import Clock, describe_fault, keep_finite, now
from harness.ledger import read_ledger
from tests.small_study import small_grid


def test_the_run_of_a_dead_worker_is_a_failed_one(tmp_path: Path) -> None:
    run = small_grid().runs()[0]
    write_lost_run(run, Workplace(tmp_path, None, tmp_path), "killed by signal 9")
    (record,) = read_ledger(tmp_path)
    assert (record["run_id"], record["status"]) == (run.run_id, "failed")
    assert record["error"] == {"type": "WorkerDied", "message": "killed by signal 9"}


def test_numbers_that_are_none_are_left_out() -> None:
    scores = {"test": {"accuracy": 0.5, "mcc": math.nan, "f1": math.inf}}
    assert keep_finite(scores) == {"test": {"accuracy": 0.5}}


def test_a_divergence_says_when_and_another_fault_says_where() -> None:
    diverged = describe_fault(DivergedError("the loss is nan", 3))
    assert diverged["error"] == {"type": "DivergedError", "message": "the loss is nan", "step": 3}
    try:
        int("three")
    except ValueError as error:
        failed = describe_fault(error)
    assert failed["status"] == "failed"
    assert failed["error"]["type"] == "ValueError"
    assert 'int("three")' in failed["error"]["traceback"]


def test_phases_add_up_and_the_total_is_more_than_they_are() -> None:
    clock = Clock()
    for _ in range(2):
        with clock.phase("load"):
            time.sleep(0.01)
    seconds = clock.seconds()
    assert 0.02 <= seconds["load"] <= seconds["total"]


def test_times_sort_as_texts() -> None:
    assert now() < now()
    assert now().endswith("+00:00")
