"""An executor that only records, and a driver that can be killed, to test the launchers with."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.execute import StudyLostError, WorkerLostError, Workplace
from harness.execute.record import describe_run, now
from harness.ledger import LedgerWriter
from harness.spec import Run
from tests.small_study import small_grid


def recording(
    seconds: float = 0.0,
    *,
    dies_at: str | None = None,
    dies_always: bool = False,
    breaks_at: str | None = None,
    raises_at: str | None = None,
    full_at: str | None = None,
) -> Any:
    """Make a class of executors: some seconds a run, and at a named run something happens."""

    # Inside a function: so it travels to workers by value, wherever the tests lie.
    class Recording:
        def __init__(self, workplace: Workplace, before_commit: Callable[[], None]) -> None:
            self.workplace = workplace
            self.before_commit = before_commit
            self.ledger = LedgerWriter(workplace.study)

        def execute(self, run: Run) -> Mapping[str, Any]:
            started = now()
            time.sleep(seconds)
            if dies_always or run.run_id == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if run.run_id == raises_at:
                raise OSError("no space left on device")
            if run.run_id == full_at:
                raise StudyLostError("No space left on device")
            self.before_commit()
            status = "failed" if run.run_id == breaks_at else "ok"
            times = {"status": status, "started": started, "finished": now()}
            record = self.ledger.append(describe_run(run, self.workplace) | times)
            if run.run_id == breaks_at:
                raise WorkerLostError("CUDA error: an illegal memory access was encountered")
            return record

    return Recording


def workplace_in(study: Path) -> Workplace:
    """Make a workplace whose data nobody reads."""
    return Workplace(study=study, data_root=None, cache=study / "cache")


def main() -> None:
    """Run the small grid through Ray with 20 seeds, so many seconds a run: STUDY SECONDS."""
    from harness.launch.plan import make_plan
    from harness.launch.tune import run_tune

    study, seconds = Path(sys.argv[1]), float(sys.argv[2])
    plan = make_plan(small_grid(seeds=tuple(range(20))), study, workers=2)
    print("planned", plan.to_run, flush=True)
    outcome = run_tune(
        plan,
        workplace_in(study),
        workers=2,
        on_record=lambda record: print("record", record["run_id"], flush=True),
        on_interrupt=lambda: print("stopping", flush=True),
        make_worker=recording(seconds),
    )
    print(outcome, flush=True)


if __name__ == "__main__":
    main()
