"""Which scores of a metric are the better ones.

All of `harness.stats` takes larger scores for better ones. So whatever is chosen, ranked or raced
is asked of *gains*: scores with the sign that makes larger ones better. Means and differences stay
as the metric gives them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from harness.spec import is_error
from harness.stats import Resampled

BETWEEN = ", "
"""Stands between the metrics of a mean over tasks."""

Scores = TypeVar("Scores", float, NDArray[np.float64], NDArray[np.float32])


def name_together(metrics: Iterable[str]) -> str:
    """Name the metrics of a mean over tasks, each once: `accuracy, f1`."""
    return BETWEEN.join(dict.fromkeys(metrics))


def lower_is_better(metric: str) -> bool | None:
    """Say whether lower scores of a metric are the better ones.

    `metric` may be those of a mean over tasks, as `name_together` gives them: None where they do
    not agree, so that no end of their mean is the better one. A metric of an unknown name, as of
    another tool, counts as better when larger.
    """
    found = {is_error(name) for name in metric.split(BETWEEN)}
    return found.pop() if len(found) == 1 else None


def lower_ones(metrics: Iterable[str]) -> list[str]:
    """Name those of some metrics, or of means over them, for which lower is better."""
    names = name_together(metrics).split(BETWEEN)
    return [name for name in dict.fromkeys(names) if lower_is_better(name)]


def orient(scores: Scores, metric: str) -> Scores:
    """Turn scores of a metric into gains, or gains back into scores."""
    return -scores if lower_is_better(metric) else scores


def orient_draws(runs: Resampled, metric: str) -> Resampled:
    """Turn scores on drawn examples into gains."""
    return replace(
        runs,
        scores_R=orient(runs.scores_R, metric),
        replicates_RB=orient(runs.replicates_RB, metric),
    )
