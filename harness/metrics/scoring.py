"""From a task and its predictions to scores, for every kind of task: the table of kinds.

Scores are fractions of 1, finite or absent: a metric without a defined value has no entry. (A log
loss, and what a module of `evaluate` gives, are on scales of their own.)
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from harness.errors import SpecError
from harness.metrics import answers, classification, modules, ranking, regression, tagging
from harness.spec import Task, is_error

Parts = Mapping[str, pd.DataFrame]
Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class KindMetrics:
    """What a kind of task has: names of metrics, and functions of a task and its splits' frames.

    The first argument of each is the kind's own class of task. `names` are the metrics that are
    always computed, `score` takes those that are wanted.
    """

    names: Callable[[Any], tuple[str, ...]]
    score: Callable[[Any, Parts, Collection[str]], Scores]
    is_collapsed: Callable[[Any, Parts], bool]
    fault: Callable[[Any, str], str | None]


def check_metrics(task: Task) -> None:
    """Check that the task's kind has all metrics of its card, and that the first can choose a rate.

    Raises:
        SpecError: it does not have them; a line for each that it lacks.
    """
    found = [(place, name, metric_fault(task, name)) for place, name in enumerate(task.metrics)]
    if is_error(task.main_metric):
        found.append(
            (0, task.main_metric, "lower is better, so it can't be first, where it chooses")
        )
    lines = [
        f"task {task.name}: metrics.{place}: {name!r}: {text}"
        for place, name, text in found
        if text
    ]
    if lines:
        raise SpecError("\n".join(lines))


def metric_fault(task: Task, name: str) -> str | None:
    """Say what is wrong with a metric's name for a task, None if nothing is."""
    if name.startswith(modules.PREFIX):
        return modules.fault(task, name)
    return KINDS[task.kind].fault(task, name)


def score(task: Task, predictions: pd.DataFrame, metrics: Sequence[str] | None = None) -> Scores:
    """Score every split of a predictions frame: {split: {metric: value}}.

    Without `metrics`, all standard metrics of the kind and those of the card are computed. A
    threshold for leaving questions unanswered is chosen on validation, and is always there.

    Raises:
        RunError: a number that predictions were made from is not finite, a ranking has duplicates,
        or a module of `evaluate` breaks.
    """
    kind = KINDS[task.kind]
    wanted = dict.fromkeys((*kind.names(task), *task.metrics) if metrics is None else metrics)
    foreign = [name for name in wanted if name.startswith(modules.PREFIX)]
    parts = _parts(predictions)
    scores = kind.score(task, parts, [name for name in wanted if name not in foreign])
    for split, values in modules.score(task, parts, foreign).items():
        scores[split] |= values
    return scores


def is_collapsed(task: Task, predictions: pd.DataFrame) -> bool:
    """Say whether a run learnt nothing: its test predictions, two or more, are all the same."""
    parts = _parts(predictions)
    if len(parts.get("test", ())) < 2:
        return False
    return KINDS[task.kind].is_collapsed(task, parts)


def _parts(predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {
        str(split): part for split, part in predictions.groupby("split", sort=False, observed=True)
    }


def _split_by_split(score: Callable[[Any, pd.DataFrame, Collection[str]], Any]) -> Any:
    return lambda task, parts, wanted: {
        split: score(task, frame, wanted) for split, frame in parts.items()
    }


def _on_test(is_collapsed: Callable[[pd.DataFrame], bool]) -> Any:
    return lambda task, parts: is_collapsed(parts["test"])


def _fault_of_unknown(
    names: Callable[[Any], tuple[str, ...]],
    more_names: Callable[[Any], tuple[str, ...]] = lambda task: (),
) -> Callable[[Any, str], str | None]:
    def fault(task: Task, name: str) -> str | None:
        known = (*names(task), *more_names(task))
        if name in known:
            return None
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return f"this task has no such metric{hint} (it has {', '.join(known)}, evaluate/NAME)"

    return fault


KINDS: dict[str, KindMetrics] = {
    "sequence_classification": KindMetrics(
        classification.names,
        _split_by_split(classification.score),
        _on_test(classification.is_collapsed),
        _fault_of_unknown(classification.names),
    ),
    "sequence_regression": KindMetrics(
        regression.names,
        _split_by_split(regression.score),
        _on_test(regression.is_collapsed),
        _fault_of_unknown(regression.names),
    ),
    "token_classification": KindMetrics(
        tagging.names,
        _split_by_split(tagging.score),
        _on_test(tagging.is_collapsed),
        _fault_of_unknown(tagging.names, tagging.more_names),
    ),
    "question_answering": KindMetrics(
        answers.names,
        answers.score,
        answers.is_collapsed,
        _fault_of_unknown(answers.names),
    ),
    "retrieval": KindMetrics(
        ranking.names,
        _split_by_split(ranking.score),
        _on_test(ranking.is_collapsed),
        ranking.fault,
    ),
}
