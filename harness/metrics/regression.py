"""Metrics of one number, by SciPy."""

from __future__ import annotations

import warnings
from collections.abc import Collection

import numpy as np
import pandas as pd
from scipy import stats

from harness.errors import RunError
from harness.spec import SequenceRegression


def names(task: SequenceRegression) -> tuple[str, ...]:
    """Name the metrics of the task."""
    return ("spearman", "pearson")


def score(
    task: SequenceRegression, frame: pd.DataFrame, wanted: Collection[str]
) -> dict[str, float]:
    """Score one split; a correlation that is undefined (one side is constant) is absent.

    Raises:
        RunError: a prediction is not finite.
    """
    gold, predicted = frame["gold"].to_numpy(), frame["prediction"].to_numpy()
    if not np.isfinite(predicted).all():
        raise RunError("a prediction is not a finite number; a smaller learning rate may help")
    if np.ptp(gold) == 0 or np.ptp(predicted) == 0:
        return {}
    scores = {"spearman": float(stats.spearmanr(gold, predicted).statistic)}
    with warnings.catch_warnings():
        # SciPy warns where all but rounding is constant: such a coefficient is rounding as well.
        warnings.simplefilter("error", stats.DegenerateDataWarning)
        try:
            scores["pearson"] = float(stats.pearsonr(gold, predicted).statistic)
        except stats.DegenerateDataWarning:
            return {}
    return {name: scores[name] for name in wanted}


def is_collapsed(frame: pd.DataFrame) -> bool:
    """Say whether all predictions are the same number, but for the rounding of float32."""
    predicted = frame["prediction"].to_numpy()
    return bool(np.ptp(predicted) <= 1e-6 * max(1.0, float(np.abs(predicted).max())))
