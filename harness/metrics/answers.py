"""Metrics of answers: exact match and F1 of SQuAD, and the threshold above which none is given.

Definitions: Rajpurkar et al. 2016 (SQuAD) and 2018 (2.0), as in the official evaluation of 2.0.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import RunError
from harness.spec import QuestionAnswering

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def names(task: QuestionAnswering) -> tuple[str, ...]:
    """Name the metrics of the task."""
    return ("exact_match", "f1")


def normalise(text: str) -> str:
    """Lower the case; take out ASCII punctuation, then English articles, then surplus spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, golds: Iterable[str]) -> float:
    """Compare normalised texts: 1 where the prediction is one of the golds, else 0."""
    return float(normalise(prediction) in _normalised(golds))


def f1(prediction: str, golds: Iterable[str]) -> float:
    """Give the best F1, over the golds, of the bags of normalised words; 1 where both are empty."""
    words = normalise(prediction).split()
    return max(_bag_f1(words, gold.split()) for gold in _normalised(golds))


def score(
    task: QuestionAnswering, parts: Mapping[str, pd.DataFrame]
) -> dict[str, dict[str, float]]:
    """Score all splits: {split: {metric: value}}.

    Where some questions have no answer, a question is left without one when its `null_gap` is above
    the threshold that gives the best F1 on validation (0 where there is no validation split); that
    threshold stands in every split as `null_threshold`.

    Raises:
        RunError: a `null_gap` is not finite.
    """
    outcomes = {split: _outcomes(frame) for split, frame in parts.items()}
    if not task.unanswerable:
        return {split: _means(outcome.answered) for split, outcome in outcomes.items()}
    threshold = _threshold(parts, outcomes)
    scores = {}
    for split, frame in parts.items():
        keeps_answer = _gaps(frame) <= threshold
        final = np.where(keeps_answer[:, None], outcomes[split].answered, outcomes[split].silent)
        scores[split] = {**_means(final), "null_threshold": threshold}
    return scores


def is_collapsed(task: QuestionAnswering, parts: Mapping[str, pd.DataFrame]) -> bool:
    """Say whether all questions of test get the same answer, or none does."""
    answers = parts["test"]["prediction_text"]
    if task.unanswerable:
        threshold = 0.0
        if "validation" in parts:
            threshold = _threshold(parts, {"validation": _outcomes(parts["validation"])})
        answers = answers.where(_gaps(parts["test"]) <= threshold, "")
    return len(set(answers)) == 1


def best_threshold(
    gaps: NDArray[np.float64], answered: NDArray[np.float64], silent: NDArray[np.float64]
) -> float:
    """Choose the threshold on the gap that gives the best sum, answering where gap <= threshold.

    All three are of shape (examples,): `answered` is what an example earns with its answer,
    `silent` without. Candidates lie midway between neighbouring gaps, and 1 outside of all of them.
    Of equally good ones the nearest to 0 is taken, then the lower.
    """
    order = np.argsort(gaps, kind="stable")
    low, gain = gaps[order], (answered - silent)[order]
    middle = low[:-1] / 2 + low[1:] / 2
    between = np.where(middle < low[1:], middle, low[:-1])  # neighbouring floats have no middle
    candidates = np.concatenate([low[:1] - 1, between, low[-1:] + 1])
    gains = np.concatenate([[0.0], np.cumsum(gain)])
    separates = np.concatenate([[True], low[:-1] < low[1:], [True]])
    good = candidates[separates & (gains >= gains[separates].max() - 1e-9)]
    return float(min(good, key=lambda candidate: (abs(candidate), candidate)))


@dataclass(frozen=True)
class _Outcomes:
    """What each example earns, (examples, 2): exact match and F1, with its answer and without."""

    answered: NDArray[np.float64]
    silent: NDArray[np.float64]


def _outcomes(frame: pd.DataFrame) -> _Outcomes:
    answered, silent = np.empty((len(frame), 2)), np.empty((len(frame), 2))
    pairs = zip(frame["prediction_text"], frame["gold"], strict=True)
    for row, (text, golds) in enumerate(pairs):
        wanted = _normalised(golds)
        given = normalise(text)
        answered[row] = given in wanted, max(_bag_f1(given.split(), x.split()) for x in wanted)
        silent[row] = "" in wanted
    return _Outcomes(answered, silent)


def _normalised(golds: Iterable[str]) -> tuple[str, ...]:
    """Normalise the golds; those of which nothing is left don't count, and none at all is ""."""
    texts = dict.fromkeys(normalise(gold) for gold in golds)
    return tuple(text for text in texts if text) or ("",)


def _bag_f1(prediction: list[str], gold: list[str]) -> float:
    if not prediction or not gold:
        return float(prediction == gold)
    shared = sum((Counter(prediction) & Counter(gold)).values())
    return 2 * shared / (len(prediction) + len(gold))


def _threshold(parts: Mapping[str, pd.DataFrame], outcomes: Mapping[str, _Outcomes]) -> float:
    if "validation" not in parts:
        return 0.0
    earned = outcomes["validation"]
    return best_threshold(_gaps(parts["validation"]), earned.answered[:, 1], earned.silent[:, 1])


def _gaps(frame: pd.DataFrame) -> NDArray[np.float64]:
    gaps = frame["null_gap"].to_numpy(dtype=np.float64)
    if not np.isfinite(gaps).all():
        raise RunError("a null_gap is not a finite number; a smaller learning rate may help")
    return gaps


def _means(earned: NDArray[np.float64]) -> dict[str, float]:
    return {"exact_match": float(earned[:, 0].mean()), "f1": float(earned[:, 1].mean())}
