"""Metrics of one class out of several: of the predicted classes by scikit-learn, and of the logits.

Each is a row of `_METRICS`: a function of an `_Outcome` that gives None where it has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)

from harness.errors import RunError
from harness.spec import SequenceClassification

Integers = NDArray[np.int64]
BINS = 15
"""Bins of the calibration error, as in the experiments of Guo et al. 2017."""


@dataclass(frozen=True, eq=False)
class _Outcome:
    """Gold and predicted classes (N,), and the logarithms of the classes' probabilities (N, C)."""

    gold: Integers
    predicted: Integers
    log_probabilities: NDArray[np.float64]


def names(task: SequenceClassification) -> tuple[str, ...]:
    """Name the metrics of the task; those of class 1 alone exist for two classes only."""
    return tuple(name for name in _METRICS if len(task.labels) == 2 or name not in _OF_CLASS_1)


def score(
    task: SequenceClassification, frame: pd.DataFrame, wanted: Collection[str]
) -> dict[str, float]:
    """Score one split by the metrics that are wanted; one without a value has no entry.

    `mcc` of constant predictions is 0, as is usual (for example in GLUE): they know nothing. It is
    absent where the gold is constant. `f1`, `precision` and `recall` are absent where nothing is
    there to be counted.

    Raises:
        RunError: a logit is not finite.
    """
    logits = np.array(frame["logits"].tolist(), dtype=np.float64)
    if not np.isfinite(logits).all():
        raise RunError("a logit is not a finite number; a smaller learning rate may help")
    outcome = _Outcome(
        frame["gold"].to_numpy(), frame["prediction"].to_numpy(), log_softmax(logits, axis=1)
    )
    values = {name: _METRICS[name](outcome) for name in wanted}
    return {name: float(value) for name, value in values.items() if value is not None}


def is_collapsed(frame: pd.DataFrame) -> bool:
    """Say whether all predictions are the same class."""
    return len(set(frame["prediction"])) == 1


def log_loss(gold: Integers, log_probabilities: NDArray[np.float64]) -> float:
    """Mean negative logarithm (natural) of the gold class's probability.

    `gold` (N,), `log_probabilities` (N, C). Nothing is clipped: the logarithm of a softmax of
    finite logits is finite.
    """
    return float(-log_probabilities[np.arange(len(gold)), gold].mean())


def calibration_error(
    right: NDArray[np.bool_], confidence: NDArray[np.float64], bins: int = BINS
) -> float:
    """Mean distance of accuracy and confidence over bins of the confidence, weighted by their size.

    Both (N,): whether the predicted class is the gold one, and its probability. The bins are
    ((m - 1) / M, m / M] for m = 1 ... M. After Guo et al., "On calibration of modern neural
    networks" (ICML 2017), equation 3 (the expected calibration error of Naeini et al. 2015).
    """
    edges = np.linspace(0, 1, bins + 1)[1:-1]
    place = np.digitize(confidence, edges, right=True)
    surplus = np.bincount(place, weights=right - confidence, minlength=bins)
    return float(np.abs(surplus).sum() / len(confidence))


def _f1(outcome: _Outcome) -> float | None:
    if not ((outcome.gold == 1).any() or (outcome.predicted == 1).any()):
        return None
    return float(f1_score(outcome.gold, outcome.predicted, pos_label=1, zero_division=0.0))


def _precision(outcome: _Outcome) -> float | None:
    if not (outcome.predicted == 1).any():
        return None
    return float(precision_score(outcome.gold, outcome.predicted, pos_label=1))


def _recall(outcome: _Outcome) -> float | None:
    if not (outcome.gold == 1).any():
        return None
    return float(recall_score(outcome.gold, outcome.predicted, pos_label=1))


def _averaged_f1(average: str) -> Callable[[_Outcome], float]:
    return lambda outcome: float(
        f1_score(outcome.gold, outcome.predicted, average=average, zero_division=0.0)
    )


def _mcc(outcome: _Outcome) -> float | None:
    if len(np.unique(outcome.gold)) < 2:
        return None
    return float(matthews_corrcoef(outcome.gold, outcome.predicted))


def _accuracy(outcome: _Outcome) -> float:
    return float(accuracy_score(outcome.gold, outcome.predicted))


def _calibration_error(outcome: _Outcome) -> float:
    confidence = np.exp(outcome.log_probabilities.max(axis=1))
    return calibration_error(outcome.gold == outcome.predicted, confidence)


_OF_CLASS_1 = ("f1", "precision", "recall")
_METRICS: dict[str, Callable[[_Outcome], float | None]] = {
    "accuracy": _accuracy,
    "f1": _f1,
    "precision": _precision,
    "recall": _recall,
    "macro_f1": _averaged_f1("macro"),
    "weighted_f1": _averaged_f1("weighted"),
    "mcc": _mcc,
    "log_loss": lambda outcome: log_loss(outcome.gold, outcome.log_probabilities),
    "ece": _calibration_error,
    "paper/accuracy": _accuracy,
}
