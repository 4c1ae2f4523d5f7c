"""What is checked before anything starts: every task's metrics and data, all faults at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pandas as pd

from harness.data import Collection, Examples, count_examples, load_examples, training_pairs
from harness.errors import AbsentDataError, DataError, InputError, StudyError
from harness.grid import FrozenGrid
from harness.launch.plan import TaskSize
from harness.ledger import latest_records, read_ledger
from harness.metrics import check_metrics
from harness.spec import ROLES, QuestionAnswering, Retrieval, Task, TokenClassification

TOKENS_A_WORD = 1.3  # of subword tokenizers on English text; only for the estimate of the cost
SAMPLE = 1000
NO_LIMIT = 512


@dataclass(frozen=True)
class Checked:
    """What is known of the tasks of a grid, each by its name.

    `absent` says of tasks whose data are not here why; their sizes are those that the cards state,
    and they have no fingerprints.
    """

    sizes: dict[str, TaskSize]
    fingerprints: dict[str, dict[str, str]]
    absent: dict[str, str]

    def refuse_absent(self) -> None:
        """Raise DataError where the data of a task are not here, with a line a task."""
        if self.absent:
            raise DataError("\n".join(self.absent.values()))


def check_tasks(
    tasks: Sequence[Task],
    data_root: Path | None,
    on_task: Callable[[Task], None] | None = None,
) -> Checked:
    """Load every task once: its size and the fingerprints of its splits.

    Raises:
        DataError: a metric is unknown, data are incomplete, empty, unlabelled or wrongly labelled,
            or absent and of unknown size; the message has a line a task.
    """
    sizes: dict[str, TaskSize] = {}
    fingerprints: dict[str, dict[str, str]] = {}
    absent: dict[str, str] = {}
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
            said = said if said.startswith(owner) else owner + said
            size = stated_size(task)
            if isinstance(error, AbsentDataError) and size is not None:
                sizes[task.name], absent[task.name] = size, said
            else:
                faults.append(said)
        else:
            sizes[task.name] = measure(examples)
            fingerprints[task.name] = {str(k): v for k, v in examples.fingerprints.items()}
    if faults:
        raise DataError("\n".join([*faults, *absent.values()]))
    return Checked(sizes, fingerprints, absent)


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
        now = fingerprints.get(record["task"], {})
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
    counts = _inputs(examples)
    train = examples.parts["train"]
    if isinstance(task, Retrieval) and isinstance(train, Collection):
        counts["train"] = len(training_pairs(train, task.min_relevance))
    words = _mean_words(task, train)
    tokens = min(TOKENS_A_WORD * words + 2, task.max_length or NO_LIMIT)
    tested = ("test", *task.further)
    ranked = [examples.parts[split] for split in ("validation", *tested)]
    queries = [len(part.queries) for part in ranked if isinstance(part, Collection)]
    return TaskSize(
        train_examples=counts["train"],
        validation_examples=counts["validation"],
        test_examples=sum(counts[split] for split in tested),
        mean_tokens=tokens,
        queries=sum(queries) if queries else None,
    )


def stated_size(task: Task) -> TaskSize | None:
    """Take the size from the card, within its limits; None where it states none."""
    if task.size is None:
        return None
    tested = ("test", *task.further)
    counts = {split: _limited(task, split, n) for split, n in task.size.examples.items()}
    queries = sum(counts[split] for split in ("validation", *tested))
    for split, documents in task.size.documents.items():
        is_shared = split == "validation" and isinstance(task, Retrieval) and task.corpus == "full"
        counts[split] += 0 if is_shared else documents  # test ranks the same corpus
    return TaskSize(
        train_examples=counts["train"],
        validation_examples=counts["validation"],
        test_examples=sum(counts[split] for split in tested),
        mean_tokens=min(task.size.tokens, task.max_length or NO_LIMIT),
        queries=queries if isinstance(task, Retrieval) else None,
    )


def _limited(task: Task, split: str, count: int) -> int:
    limit = task.splits.limit and getattr(task.splits.limit, split if split in ROLES else "test")
    return min(count, limit or count)


def _inputs(examples: Examples) -> dict[str, int]:
    """Count what each split adds to encode: examples, or queries and documents not seen before.

    Documents count once, whatever `long_documents` makes of them.
    """
    task, seen, counts = examples.task, set(), {}
    for split, part in examples.parts.items():
        counts[split] = count_examples(part)
        if isinstance(part, Collection) and isinstance(task, Retrieval) and split != "train":
            corpus = (
                part.corpus_fingerprint,
                task.document_template(split),
                task.document_length(split),
                task.overlap_of_passages(split),
            )
            counts[split] += 0 if corpus in seen else len(part.corpus)
            seen.add(corpus)
    return counts


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
