"""What examples give must add up to the metric itself, for every kind of task."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from seqeval.scheme import IOB2, Entities

from harness.errors import InputError
from harness.metrics.examples import entities, example_gives
from harness.metrics.scoring import score
from harness.results.examples import STATISTICS
from harness.spec import (
    Data,
    QuestionAnswering,
    Retrieval,
    SquadFiles,
    TokenClassification,
)
from tests.small_study import SST2, STSB

FILES = Data(native=SquadFiles(format="squad_json", train="a", test="b"))
TAGS = TokenClassification(
    name="tags", kind="token_classification", data=FILES, labels=("PER", "LOC"), metrics=("x",)
)
ANSWERS = QuestionAnswering(
    name="qa", kind="question_answering", data=FILES, unanswerable=True, metrics=("f1",)
)
SEARCH = Retrieval(name="ir", kind="retrieval", data=FILES, metrics=("nDCG@10",))


def frame_of(**columns):
    size = len(next(iter(columns.values())))
    ids = [str(number) for number in range(size)]
    return pd.DataFrame({"split": ["test"] * size, "id": ids, **columns})


GENERATOR = np.random.default_rng(0)
CLASSES = frame_of(
    gold=GENERATOR.integers(0, 2, 50),
    prediction=GENERATOR.integers(0, 2, 50),
    logits=[[0.0, 1.0]] * 50,
)
NUMBERS = frame_of(gold=GENERATOR.random(50).round(1), prediction=GENERATOR.random(50) + 1e3)
SENTENCES = [
    [str(tag) for tag in GENERATOR.choice(TAGS.tag_names, 6, p=[0.5, 0.2, 0.1, 0.1, 0.1])]
    for _ in range(80)
]
TAGGED = frame_of(gold=SENTENCES[:40], prediction=SENTENCES[40:])
ANSWERED = frame_of(
    gold=[["the cat"], [""], ["a dog", "dog"], ["rain"]],
    prediction_text=["cat sat", "dog", "dog", "sun"],
    null_gap=[-1.0, 2.0, -2.0, 0.5],
)
RANKED = frame_of(
    documents=[["a", "b", "c"], ["a", "d"], []],
    scores=[[3.0, 2.0, 2.0], [1.0, 0.5], []],
    gold=[["b"], ["a", "x"], ["c"]],
    relevance=[[1], [1, 2], [1]],
)


@pytest.mark.parametrize(
    ("task", "frame", "metric"),
    [
        *((SST2, CLASSES, metric) for metric in ("accuracy", "f1", "mcc")),
        *((STSB, NUMBERS, metric) for metric in ("pearson", "spearman")),
        *((TAGS, TAGGED, m) for m in ("entity_f1", "entity_precision", "entity_recall")),
        *((ANSWERS, ANSWERED, metric) for metric in ("f1", "exact_match")),
        *((SEARCH, RANKED, metric) for metric in ("nDCG@10", "RR@10", "R@100")),
    ],
)
def test_examples_add_up_to_the_score(task, frame, metric):
    if task is TAGS:
        task = TAGS.model_copy(update={"metrics": (metric,)})
    scores = score(task, frame)["test"]
    gives = example_gives(task, metric, frame, scores.get("null_threshold"))
    statistic = STATISTICS[gives.form]
    found = gives.values.mean() if statistic is None else statistic(gives.values.sum(axis=0))
    assert found == pytest.approx(scores[metric], abs=1e-9)
    assert len(gives.values) == len(frame)


def test_entities_are_those_of_seqeval_strict():
    for tags in SENTENCES:
        (found,) = Entities([tags], IOB2).entities
        assert entities(tags) == {(e.start, e.end - 1, e.tag) for e in found}


def test_entities_by_hand():
    assert entities(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"]) == {(0, 1, "PER"), (4, 4, "LOC")}
    assert entities(["B-PER", "I-LOC"]) == {(0, 0, "PER")}
    assert entities([]) == set()


@pytest.mark.parametrize(
    ("task", "frame", "metric"),
    [(SST2, CLASSES, "macro_f1"), (STSB, NUMBERS, "mse"), (SEARCH, RANKED, "quality")],
)
def test_a_metric_that_is_no_sum_over_examples_is_refused(task, frame, metric):
    with pytest.raises(InputError, match="no function of sums over examples"):
        example_gives(task, metric, frame)
