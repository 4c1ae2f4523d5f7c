"""Scores of finished runs, computed again from their stored predictions: nothing is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, InputError
from harness.grid import FrozenGrid, read_frozen
from harness.ledger import latest_records, read_ledger
from harness.metrics import metric_fault, score
from harness.predictions import read_predictions
from harness.rescored import RescoredWriter
from harness.spec import Task

Record = Mapping[str, Any]
Scores = dict[str, dict[str, float]]
SAME = 1e-12
"""Scores that differ by less are equal: sums in another order."""


@dataclass
class Tally:
    """What became of a metric: runs looked at, with a value on some split, and what is new of it.

    `changed` counts runs that had a score and got another one: a metric's definition has changed.
    """

    runs: int = 0
    valued: int = 0
    added: int = 0
    changed: int = 0


@dataclass
class Rescoring:
    """The outcome: a tally a metric, and what went wrong, by run id."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)


def rescore(
    study: Path,
    metrics: Sequence[str] = (),
    *,
    on_plan: Callable[[int], None] = lambda runs: None,
    on_run: Callable[[Record], None] = lambda record: None,
) -> Rescoring:
    """Compute metrics of all good planned runs, and keep what is new beside the ledger.

    Each metric is computed for the tasks that have it; without `metrics`, those of every task's
    card. Scores that are there and equal are not written again. A run whose predictions are lost
    or can't be scored is a fault of its own and stops no other. `on_plan` hears how many runs there
    are, `on_run` of each one when it is done.

    Raises:
        StudyError: the folder is no study, or can't be read.
        InputError: a metric is of no task of the study; nothing was computed.
    """
    grid = read_frozen(study)
    wanted = metrics_by_task(grid, metrics)
    latest = latest_records(read_ledger(study))
    planned = [
        (run.task, latest[run.run_id])
        for run in grid.runs()
        if wanted[run.task.name] and latest.get(run.run_id, {}).get("status") == "ok"
    ]
    on_plan(len(planned))
    outcome = Rescoring({name: Tally() for names in wanted.values() for name in names})
    with RescoredWriter(study) as writer:
        for task, record in planned:
            try:
                _rescore_run(study, task, record, wanted[task.name], writer, outcome)
            except HarnessError as error:
                outcome.faults[record["run_id"]] = str(error)
            on_run(record)
    return outcome


def _rescore_run(
    study: Path,
    task: Task,
    record: Record,
    names: Sequence[str],
    writer: RescoredWriter,
    outcome: Rescoring,
) -> None:
    """Score one run, append what is new, and count it."""
    scores = _only(score(task, read_predictions(study, record["run_id"]), names), names)
    if new := _new_scores(record["scores"], scores):
        writer.add(record, new, datetime.now(UTC).isoformat(timespec="microseconds"))
    for name in names:
        _count(outcome.tallies[name], name, record["scores"], scores, new)


def metrics_by_task(grid: FrozenGrid, metrics: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Say which metrics each task of a study has, by its name; without `metrics`, its card's.

    Raises:
        InputError: no task has one of the metrics; the message says why, for every such metric.
    """
    faults: list[str] = []
    by_task: dict[str, list[str]] = {task.name: [] for task in grid.tasks}
    asked = {name: [*grid.tasks] for name in metrics} or _of_cards(grid.tasks)
    for name, tasks in asked.items():
        reasons = {task.name: metric_fault(task, name) for task in tasks}
        for task_name, reason in reasons.items():
            if reason is None:
                by_task[task_name].append(name)
        if all(reasons.values()):
            texts = dict.fromkeys(f"task {task}: {reason}" for task, reason in reasons.items())
            faults.append("\n".join([f"no task of this study has the metric {name!r}:", *texts]))
    if faults:
        raise InputError("\n".join(faults))
    return {task_name: tuple(names) for task_name, names in by_task.items()}


def _of_cards(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    having: dict[str, list[Task]] = {}
    for task in tasks:
        for name in task.metrics:
            having.setdefault(name, []).append(task)
    return having


def _only(scores: Scores, names: Sequence[str]) -> Scores:
    """Keep the metrics that were asked for: a null threshold comes along, but is no score."""
    return {
        split: {name: values[name] for name in names if name in values}
        for split, values in scores.items()
    }


def _new_scores(old: Mapping[str, Mapping[str, float]], scores: Scores) -> Scores:
    """Keep the scores that are not there yet, or differ from those that are."""
    new = {
        split: {
            name: value
            for name, value in values.items()
            if name not in old.get(split, {}) or abs(old[split][name] - value) > SAME
        }
        for split, values in scores.items()
    }
    return {split: values for split, values in new.items() if values}


def _count(
    tally: Tally, name: str, old: Mapping[str, Mapping[str, float]], scores: Scores, new: Scores
) -> None:
    written = [split for split, values in new.items() if name in values]
    tally.runs += 1
    tally.valued += any(name in values for values in scores.values())
    tally.changed += any(name in old.get(split, {}) for split in written)
    tally.added += any(name not in old.get(split, {}) for split in written)
