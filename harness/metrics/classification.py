"""Metrics of one class out of several, by scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from harness.errors import RunError
from harness.spec import SequenceClassification


def names(task: SequenceClassification) -> tuple[str, ...]:
    """Name the metrics of the task; `f1` (of class 1) exists for two classes only."""
    f1 = ("f1",) if len(task.labels) == 2 else ()
    return ("accuracy", *f1, "macro_f1", "mcc")


def score(task: SequenceClassification, frame: pd.DataFrame) -> dict[str, float]:
    """Score one split.

    `mcc` of constant predictions is 0, as is usual (for example in GLUE): they know nothing. It is
    absent where the gold is constant. `f1` is absent where class 1 is neither in the gold nor
    predicted.

    Raises:
        RunError: a logit is not finite.
    """
    if not np.isfinite(np.concatenate([*map(np.asarray, frame["logits"])])).all():
        raise RunError("a logit is not a finite number; a smaller learning rate may help")
    gold, predicted = frame["gold"].to_numpy(), frame["prediction"].to_numpy()
    scores = {
        "accuracy": accuracy_score(gold, predicted),
        "macro_f1": f1_score(gold, predicted, average="macro", zero_division=0.0),
    }
    if "f1" in names(task) and ((gold == 1).any() or (predicted == 1).any()):
        scores["f1"] = f1_score(gold, predicted, pos_label=1, average="binary", zero_division=0.0)
    if len(np.unique(gold)) > 1:
        scores["mcc"] = matthews_corrcoef(gold, predicted)
    return {name: float(value) for name, value in scores.items()}


def is_collapsed(frame: pd.DataFrame) -> bool:
    """Say whether all predictions are the same class."""
    return len(set(frame["prediction"])) == 1
