"""What is checked before anything starts: every task's metrics and data, all faults at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import pandas as pd

from harness.data import Collection, Examples, load_examples, training_pairs
from harness.errors import DataError, InputError, StudyError
from harness.grid import FrozenGrid
from harness.launch.plan import TaskSize
from harness.ledger import latest_records, read_ledger
from harness.metrics import check_metrics
from harness.spec import QuestionAnswering, Retrieval, Task, TokenClassification

TOKENS_A_WORD = 1.3  # of subword tokenizers on English text; only for the estimate of the cost
SAMPLE = 1000
NO_LIMIT = 512


def check_tasks(
    tasks: Sequence[Task],
    data_root: Path | None,
    on_task: Callable[[Task], None] | None = None,
) -> tuple[dict[str, TaskSize], dict[str, dict[str, str]]]:
    """Load every task once: its size, and the fingerprints of its splits, by the task's name.

    Raises:
        DataError: a metric is unknown, or data are missing, empty, unlabelled or wrongly
            labelled; the message has a line a task.
    """
    sizes: dict[str, TaskSize] = {}
    fingerprints: dict[str, dict[str, str]] = {}
    faults = []
    for task in tasks:
        if on_task is not None:
            on_task(task)
        try:
            check_metrics(task)
            examples = load_examples(task, data_root)
        except InputError as error:
            said = str(error)
            owner = f"task {task.name}: "
            faults.append(said if said.startswith(owner) else owner + said)
        else:
            sizes[task.name] = measure(examples)
            fingerprints[task.name] = {str(k): v for k, v in examples.fingerprints.items()}
    if faults:
        raise DataError("\n".join(faults))
    return sizes, fingerprints


def refuse_changed_data(
    study: Path, grid: FrozenGrid, fingerprints: Mapping[str, Mapping[str, str]]
) -> None:
    """Refuse to go on with a study whose runs saw other data: their ids do not hold the data.

    Raises:
        StudyError: a good record of a planned run names another content of a split.
    """
    if not study.is_dir():
        return
    planned = {run.run_id for run in grid.runs()}
    for run_id, record in latest_records(read_ledger(study)).items():
        if run_id not in planned or record["status"] != "ok":
            continue
        now = fingerprints[record["task"]]
        for split, before in record["splits"].items():
            if now.get(split, before) != before:
                raise StudyError(
                    f"{study}: the {split} data of task {record['task']} have changed since run "
                    f"{run_id} ({before} then, {now[split]} now). Runs on different data are not "
                    "pooled: put the data back, or give another folder with --study"
                )


def measure(examples: Examples) -> TaskSize:
    """Count examples; estimate the mean length in tokens from some training texts.

    Further test sets count as test.
    """
    task = examples.task
    counts = {split: _count(part) for split, part in examples.parts.items()}
    train = examples.parts["train"]
    if isinstance(task, Retrieval) and isinstance(train, Collection):
        counts["train"] = len(training_pairs(train, task.min_relevance))
    words = _mean_words(task, train)
    tokens = min(TOKENS_A_WORD * words + 2, task.max_length or NO_LIMIT)
    tested = sum(counts[split] for split in ("test", *task.further))
    return TaskSize(counts["train"], counts["validation"], tested, tokens)


def _count(part: pd.DataFrame | Collection) -> int:
    """Count what a prediction has to encode: examples, or queries and documents."""
    if isinstance(part, Collection):
        return len(part.queries) + len(part.corpus)
    return len(part)


def _mean_words(task: Task, part: pd.DataFrame | Collection) -> float:
    if isinstance(part, Collection):
        sample = part.corpus.head(SAMPLE)
        return _mean_count(sample, ["title", "text"])
    sample = part.head(SAMPLE)
    if isinstance(task, TokenClassification):
        return float(sample["words"].map(len).mean())
    if isinstance(task, QuestionAnswering):
        columns = ["question", "context"]
    else:
        columns = [name for name in sample.columns if name not in {"id", "label"}]
    return _mean_count(sample, columns)


def _mean_count(sample: pd.DataFrame, columns: Sequence[str]) -> float:
    rows = sample[list(columns)].to_numpy()
    return fmean(sum(len(str(text).split()) for text in row) for row in rows)
