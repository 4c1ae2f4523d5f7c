"""Metrics of answers: exact match and F1 of SQuAD, and the threshold above which none is given.

Definitions: Rajpurkar et al. 2016 (SQuAD) and 2018 (2.0), as in the official evaluation of 2.0,
whose keys the scores of the questions with and without an answer have.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import RunError
from harness.metrics import paper
from harness.spec import QuestionAnswering

_ARTICLES = re.compile(r"\b(a|an|the)\b")
PAPER = "paper/token_f1"
_OF_PART = {
    "HasAns_exact": (True, 0),
    "HasAns_f1": (True, 1),
    "NoAns_exact": (False, 0),
    "NoAns_f1": (False, 1),
}
"""Metrics of the questions with an answer or without: which, and the column of what is earned."""
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def names(task: QuestionAnswering) -> tuple[str, ...]:
    """Name the metrics of the task."""
    parts = tuple(_OF_PART) if task.unanswerable else ()
    return ("exact_match", "f1", *parts, PAPER)


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
    task: QuestionAnswering, parts: Mapping[str, pd.DataFrame], wanted: Collection[str]
) -> dict[str, dict[str, float]]:
    """Score all splits by the metrics that are wanted: {split: {metric: value}}.

    Where some questions have no answer, a question is left without one when its `null_gap` is above
    the threshold that gives the best F1 on validation (0 where there is no validation split); that
    threshold stands in every split as `null_threshold`. A part without questions has no score, and
    predictions that do not say which tokens were answered have no `paper/token_f1`.

    Raises:
        RunError: a `null_gap` is not finite.
    """
    outcomes = {split: _outcomes(frame) for split, frame in parts.items()}
    threshold = _threshold(parts, outcomes) if task.unanswerable else None
    scores = {}
    for split, frame in parts.items():
        kept = _kept(frame, threshold)
        earned = np.where(kept[:, None], outcomes[split].answered, outcomes[split].silent)
        values = _means(earned, frame["gold"].map(bool).to_numpy(dtype=bool))
        if PAPER in wanted and "prediction_tokens" in frame:
            values[PAPER] = _mean_token_f1(frame, kept)
        scores[split] = {name: values[name] for name in wanted if name in values}
        if threshold is not None:
            scores[split]["null_threshold"] = threshold
    return scores


def final_texts(
    task: QuestionAnswering, parts: Mapping[str, pd.DataFrame]
) -> dict[str, pd.Series[str]]:
    """Give what is answered in each split, "" where the gap is above the threshold."""
    threshold = None
    if task.unanswerable:
        validation = {split: _outcomes(parts[split]) for split in parts if split == "validation"}
        threshold = _threshold(parts, validation)
    return {
        split: frame["prediction_text"].where(_kept(frame, threshold), "")
        for split, frame in parts.items()
    }


def is_collapsed(task: QuestionAnswering, parts: Mapping[str, pd.DataFrame]) -> bool:
    """Say whether all questions of test get the same answer, or none does."""
    return len(set(final_texts(task, parts)["test"])) == 1


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


def _kept(frame: pd.DataFrame, threshold: float | None) -> NDArray[np.bool_]:
    """Say which questions get their answer, (examples,): all, where there is no threshold."""
    if threshold is None:
        return np.ones(len(frame), dtype=np.bool_)
    return np.asarray(_gaps(frame) <= threshold)


def _means(earned: NDArray[np.float64], has_answer: NDArray[np.bool_]) -> dict[str, float]:
    """Average what was earned, (examples, 2), over all questions and over either part of them."""
    means = dict(zip(("exact_match", "f1"), earned.mean(axis=0).tolist(), strict=True))
    for name, (answerable, column) in _OF_PART.items():
        chosen = earned[has_answer == answerable, column]
        if len(chosen):
            means[name] = float(chosen.mean())
    return means


def _mean_token_f1(frame: pd.DataFrame, kept: NDArray[np.bool_]) -> float:
    rows = zip(frame["prediction_tokens"], frame["gold_tokens"], kept, strict=True)
    return fmean(paper.token_f1(said if given else (), gold) for said, gold, given in rows)
