"""The shards of a plan in a plain loop, in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from harness.execute import Workplace
from harness.launch.follow import Turns
from harness.launch.outcome import OnRecord, Outcome, Tally
from harness.launch.plan import Plan
from harness.spec import Run


class Executor(Protocol):
    """What executes a run and appends its record; `harness.execute.Worker` is the one."""

    def execute(self, run: Run) -> Mapping[str, Any]:
        """Execute a run and return its record, which is in the ledger by then."""
        ...


MakeWorker = Callable[[Workplace, Callable[[], None]], Executor]
"""Makes the executor of a workplace; the second value is called before each record is appended."""


def make_real_worker(workplace: Workplace, before_commit: Callable[[], None]) -> Executor:
    """Make a worker that trains; torch and transformers are loaded here, not by a driver of Ray."""
    from harness.execute.worker import Worker

    return Worker(workplace, before_commit)


def run_local(
    plan: Plan,
    workplace: Workplace,
    on_record: OnRecord | None = None,
    make_worker: MakeWorker = make_real_worker,
) -> Outcome:
    """Execute the shards of a plan one after another; Ctrl-C cuts off the run in flight.

    Raises:
        WorkerLostError: this process can't go on (its CUDA context is broken, the study's disk is
            full); the same command does the rest.
    """
    tally = Tally((run.run_id for run in plan.runs), on_record)
    worker = make_worker(workplace, lambda: None)
    turns = Turns(workplace.study, lambda record: tally.add([record]))
    turns.begin(plan.runs)
    try:
        while (run := turns.next()) is not None:
            tally.add([worker.execute(run)])
    except KeyboardInterrupt:
        return tally.outcome(interrupted=True)
    return tally.outcome()
