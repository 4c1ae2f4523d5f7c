"""What each example gives to a run's score: what bootstraps over test examples draw from.

A score is a function of sums over examples. `mean`: of one number an example. `f1`: of true
positives, false positives, false negatives. `ratio`: of numerators and denominators. `mcc`: of true
positives, false positives, false negatives, true negatives. `correlation`: of 1, x, y, xx, yy, xy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from harness.errors import InputError
from harness.metrics import answers, ranking
from harness.spec import QuestionAnswering, Retrieval, Task

Form = Literal["mean", "f1", "ratio", "mcc", "correlation"]
Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Gives:
    """What each example gives: shape (examples,) for a mean, else (examples, counts)."""

    form: Form
    values: Counts


def columns_for(task: Task) -> list[str]:
    """Name the columns of predictions that `example_gives` reads."""
    own = {
        "sequence_classification": ["gold", "prediction"],
        "sequence_regression": ["gold", "prediction"],
        "token_classification": ["gold", "prediction"],
        "question_answering": ["gold", "prediction_text", "null_gap"],
        "retrieval": ["documents", "scores", "gold", "relevance"],
    }
    return ["split", "id", *own[task.kind]]


def example_gives(
    task: Task, metric: str, frame: pd.DataFrame, threshold: float | None = None
) -> Gives:
    """Break a score of one split down to its examples, in the order of the frame.

    `threshold` is that of leaving a question unanswered. For `spearman` ranks are those of the
    whole split, so a draw of examples takes ranks along and does not rank anew.

    Raises:
        InputError: the metric is no function of sums over examples known here.
    """
    match task.kind:
        case "sequence_classification":
            return _of_classes(metric, frame, len(task.labels))
        case "sequence_regression":
            return _of_numbers(metric, frame)
        case "token_classification":
            return _of_entities(metric, frame)
        case "question_answering":
            return _of_answers(task, metric, frame, threshold)
        case "retrieval":
            return _of_queries(task, metric, frame)


def entities(tags: Sequence[str]) -> set[tuple[int, int, str]]:
    """Find the entities of a sentence, strict IOB2: (first word, last word, type)."""
    found = set()
    start, type_ = None, ""
    for place, tag in enumerate([*tags, "O"]):
        if start is not None and tag != f"I-{type_}":
            found.add((start, place - 1, type_))
            start = None
        if tag.startswith("B-"):
            start, type_ = place, tag[2:]
    return found


def _of_classes(metric: str, frame: pd.DataFrame, classes: int) -> Gives:
    gold, said = frame["gold"].to_numpy(), frame["prediction"].to_numpy()
    if metric in {"accuracy", "paper/accuracy"}:
        return Gives("mean", (gold == said).astype(np.float64))
    if metric not in {"f1", "mcc"} or classes != 2:
        raise _no_sums(metric)
    counts = [(gold == 1) & (said == 1), (gold == 0) & (said == 1), (gold == 1) & (said == 0)]
    if metric == "mcc":
        counts.append((gold == 0) & (said == 0))
    return Gives(metric, np.stack(counts, axis=1).astype(np.float64))  # type: ignore[arg-type]


def _of_numbers(metric: str, frame: pd.DataFrame) -> Gives:
    if metric not in {"pearson", "spearman"}:
        raise _no_sums(metric)
    x, y = (frame[name].to_numpy(np.float64) for name in ("gold", "prediction"))
    if metric == "spearman":
        x, y = rankdata(x), rankdata(y)
    x, y = _standard(x), _standard(y)
    return Gives("correlation", np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1))


def _standard(values: Counts) -> Counts:
    """Shift and scale, which no correlation sees, so that sums of squares keep their digits."""
    spread = float(values.std())
    shifted: Counts = values - values.mean()
    return shifted / spread if spread else shifted


def _of_entities(metric: str, frame: pd.DataFrame) -> Gives:
    forms: dict[str, tuple[Form, tuple[int, ...]]] = {
        "entity_f1": ("f1", (0, 1, 2)),
        "entity_precision": ("ratio", (0, 3)),
        "entity_recall": ("ratio", (0, 4)),
    }
    if metric not in forms:
        raise _no_sums(metric)
    counts = np.empty((len(frame), 5))
    for row, (gold, said) in enumerate(zip(frame["gold"], frame["prediction"], strict=True)):
        wanted, found = entities(gold), entities(said)
        hits = len(wanted & found)
        counts[row] = hits, len(found) - hits, len(wanted) - hits, len(found), len(wanted)
    form, places = forms[metric]
    return Gives(form, counts[:, places])


def _of_answers(
    task: QuestionAnswering, metric: str, frame: pd.DataFrame, threshold: float | None
) -> Gives:
    of_one = {"f1": answers.f1, "exact_match": answers.exact_match}
    if metric not in of_one:
        raise _no_sums(metric)
    texts = frame["prediction_text"]
    if task.unanswerable:
        texts = texts.where(frame["null_gap"].to_numpy() <= (threshold or 0.0), "")
    pairs = zip(texts, frame["gold"], strict=True)
    return Gives("mean", np.array([of_one[metric](text, golds) for text, golds in pairs]))


def _of_queries(task: Retrieval, metric: str, frame: pd.DataFrame) -> Gives:
    if ranking.fault(task, metric) is not None:
        raise _no_sums(metric)
    values: Any = ranking.per_query(task, frame, metric)
    return Gives("mean", np.asarray(values, dtype=np.float64))


def _no_sums(metric: str) -> InputError:
    return InputError(
        f"{metric}: is no function of sums over examples, so there is no interval over examples; "
        "ask for the interval over seeds"
    )
