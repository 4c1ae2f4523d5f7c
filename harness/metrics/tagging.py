"""Metrics of entities in sentences, by seqeval: corpus level, strict IOB2.

An entity counts where its first word, last word and type are all right. It begins with a `B-` tag:
an `I-` tag that continues nothing of its type belongs to no entity.
"""

from __future__ import annotations

from itertools import chain

import pandas as pd
from seqeval.metrics.v1 import precision_recall_fscore_support
from seqeval.scheme import IOB2

from harness.spec import TokenClassification


def names(task: TokenClassification) -> tuple[str, ...]:
    """Name the metrics of the task."""
    return ("entity_f1", "entity_precision", "entity_recall")


def score(task: TokenClassification, frame: pd.DataFrame) -> dict[str, float]:
    """Score one split, from the tags of all its words, those that no window showed included.

    Absent: precision where no entity is predicted, recall where the gold has none, F1 where both
    hold.
    """
    gold, predicted = list(map(list, frame["gold"])), list(map(list, frame["prediction"]))
    precision, recall, f1, _ = precision_recall_fscore_support(
        gold, predicted, average="micro", scheme=IOB2, zero_division=0
    )
    in_gold, in_predicted = _has_entity(gold), _has_entity(predicted)
    scores = {
        "entity_f1": f1 if in_gold or in_predicted else None,
        "entity_precision": precision if in_predicted else None,
        "entity_recall": recall if in_gold else None,
    }
    return {name: float(value) for name, value in scores.items() if value is not None}


def is_collapsed(frame: pd.DataFrame) -> bool:
    """Say whether every word of every sentence gets the same tag."""
    return len(set(chain.from_iterable(frame["prediction"]))) == 1


def _has_entity(sentences: list[list[str]]) -> bool:
    return any(tag.startswith("B-") for tag in chain.from_iterable(sentences))
