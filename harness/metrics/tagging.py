"""Metrics of tagged sentences: of entities by seqeval, corpus level, and the paper's of tags.

Strict IOB2: an entity counts where its first word, last word and type are all right. It begins with
a `B-` tag: an `I-` tag that continues nothing of its type belongs to no entity. Lenient, as
conlleval and seqeval by default: such an `I-` tag begins an entity.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import pandas as pd
from seqeval.metrics import classification_report, f1_score
from seqeval.metrics.v1 import precision_recall_fscore_support
from seqeval.scheme import IOB2

from harness.metrics import paper
from harness.spec import TokenClassification

_OF_TYPE = "entity_f1/"


def names(task: TokenClassification) -> tuple[str, ...]:
    """Name the metrics of the task that are always computed."""
    return tuple(_METRICS)


def more_names(task: TokenClassification) -> tuple[str, ...]:
    """Name the metrics that are computed on request: F1 of each type of entity."""
    return tuple(_OF_TYPE + label for label in task.labels)


def score(
    task: TokenClassification, frame: pd.DataFrame, wanted: Collection[str]
) -> dict[str, float]:
    """Score one split, from the tags of all its words, those that no window showed included.

    Absent: precision where no entity is predicted, recall where the gold has none, F1 where both
    hold.
    """
    outcome = _Outcome(list(map(list, frame["gold"])), list(map(list, frame["prediction"])))
    values = {
        name: outcome.f1_of_type.get(name.removeprefix(_OF_TYPE))
        if name.startswith(_OF_TYPE)
        else _METRICS[name](outcome)
        for name in wanted
    }
    return {name: float(value) for name, value in values.items() if value is not None}


def is_collapsed(frame: pd.DataFrame) -> bool:
    """Say whether every word of every sentence gets the same tag."""
    return len(set(chain.from_iterable(frame["prediction"]))) == 1


@dataclass(frozen=True, eq=False)
class _Outcome:
    """The tags of all sentences; what several metrics share is computed once."""

    gold: list[list[str]]
    predicted: list[list[str]]

    @cached_property
    def strict(self) -> tuple[float, float, float]:
        """Precision, recall and F1 of entities of all types together; 0 where undefined."""
        precision, recall, f1, _ = precision_recall_fscore_support(
            self.gold, self.predicted, average="micro", scheme=IOB2, zero_division=0
        )
        return precision, recall, f1

    @cached_property
    def f1_of_type(self) -> dict[str, float]:
        """F1 of the types that the gold or the prediction has, strict."""
        if not (_begins_entity(self.gold) or _begins_entity(self.predicted)):
            return {}
        report = classification_report(
            self.gold, self.predicted, mode="strict", scheme=IOB2, output_dict=True, zero_division=0
        )
        return {name: row["f1-score"] for name, row in report.items() if not name.endswith(" avg")}

    @property
    def lenient_f1(self) -> float | None:
        """F1 in the default mode of seqeval; None where all words are `O`."""
        if set(chain.from_iterable(self.gold + self.predicted)) <= {"O"}:
            return None
        return float(f1_score(self.gold, self.predicted, zero_division=0))


def _f1(outcome: _Outcome) -> float | None:
    some = _begins_entity(outcome.gold) or _begins_entity(outcome.predicted)
    return outcome.strict[2] if some else None


_METRICS: dict[str, Callable[[_Outcome], float | None]] = {
    "entity_f1": _f1,
    "entity_precision": lambda o: o.strict[0] if _begins_entity(o.predicted) else None,
    "entity_recall": lambda o: o.strict[1] if _begins_entity(o.gold) else None,
    "lenient_entity_f1": lambda outcome: outcome.lenient_f1,
    "paper/macro_f1": lambda o: paper.sentence_macro_f1(o.gold, o.predicted),
}


def _begins_entity(sentences: list[list[str]]) -> bool:
    return any(tag.startswith("B-") for tag in chain.from_iterable(sentences))
