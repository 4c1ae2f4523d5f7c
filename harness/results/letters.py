"""Who can't be told apart: checkpoints of one task with letters, best first."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.results.direction import lower_is_better, name_together, orient
from harness.stats import groups

LEVEL = 0.05


def letter_groups(pairs: pd.DataFrame, level: float = LEVEL) -> pd.DataFrame:
    """Give the checkpoints of some pairs, best first: those that share a letter are not told apart.

    `pairs` are rows of `Study.compare_all` of one task; `level` is for the corrected p. Best is the
    largest mean, of a metric where lower is better the smallest.
    """
    means: dict[str, float] = {}
    for side in ("a", "b"):
        means.update(zip(pairs[side], pairs[f"mean_{side}"], strict=True))
    place = {name: number for number, name in enumerate(means)}
    differs = np.zeros((len(means), len(means)), dtype=bool)
    for a, b, p in zip(pairs["a"], pairs["b"], pairs["p_corrected"], strict=True):
        differs[place[a], place[b]] = differs[place[b], place[a]] = p <= level
    metric = name_together(pairs["metric"])
    found = groups(orient(np.array(list(means.values())), metric), differs) if means else []
    rows = [
        {
            "checkpoint": name,
            "mean": mean,
            "groups": " ".join(_letter(n) for n, g in enumerate(found) if place[name] in g),
        }
        for name, mean in means.items()
    ]
    frame = pd.DataFrame(rows, columns=["checkpoint", "mean", "groups"])
    return frame.sort_values("mean", ascending=bool(lower_is_better(metric)), ignore_index=True)


def _letter(number: int) -> str:
    """Give a, b, ... z, then a1, b1, ..."""
    again, place = divmod(number, 26)
    return chr(ord("a") + place) + (str(again) if again else "")
