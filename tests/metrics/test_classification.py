"""Accuracy, F1 and MCC against values worked out by hand and formulas written out here."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RunError, SpecError
from harness.metrics import check_metrics, classification, is_collapsed, score
from harness.spec import Data, HubSource, SequenceClassification

TWO, THREE = (
    SequenceClassification(
        name="toy",
        kind="sequence_classification",
        text="text",
        labels=labels,
        metrics=("accuracy",),
        data=Data(hub=HubSource(path="toy")),
    )
    for labels in (("no", "yes"), ("a", "b", "c"))
)


def frame(gold: list[int], prediction: list[int]) -> pd.DataFrame:
    logits = [[float(label == place) for place in range(3)] for label in prediction]
    return pd.DataFrame(
        {
            "split": "test",
            "id": [str(row) for row in range(len(gold))],
            "gold": gold,
            "prediction": prediction,
            "logits": logits,
        }
    )


def test_two_classes_by_hand() -> None:
    # true positives 2, false positives 1, false negatives 1, true negatives 1
    scores = score(TWO, frame([1, 1, 1, 0, 0], [1, 1, 0, 1, 0]))
    assert scores == {
        "test": {
            "accuracy": pytest.approx(3 / 5),
            "f1": pytest.approx(4 / 6),
            "macro_f1": pytest.approx((4 / 6 + 2 / 4) / 2),
            "mcc": pytest.approx((2 * 1 - 1 * 1) / math.sqrt(3 * 3 * 2 * 2)),
        }
    }


def test_three_classes_have_no_f1_of_their_own() -> None:
    scores = score(THREE, frame([0, 1, 2, 2], [0, 2, 2, 2]))["test"]
    assert scores == {
        "accuracy": pytest.approx(0.75),
        "macro_f1": pytest.approx((1 + 0 + 0.8) / 3),
        "mcc": pytest.approx(5 / math.sqrt((16 - 10) * (16 - 6))),  # 4 * 3 - (1 + 0 + 6) = 5
    }


def test_constant_predictions_have_an_mcc_of_zero_and_are_collapsed() -> None:
    predictions = frame([1, 0, 1, 0], [1, 1, 1, 1])
    assert score(TWO, predictions)["test"]["mcc"] == 0.0
    assert is_collapsed(TWO, predictions)
    assert not is_collapsed(TWO, frame([1, 0, 1, 0], [1, 1, 1, 0]))


def test_mcc_is_absent_where_the_gold_is_constant() -> None:
    assert score(TWO, frame([1, 1], [1, 0]))["test"].keys() == {"accuracy", "f1", "macro_f1"}


def test_f1_is_absent_where_no_positive_is_gold_or_predicted() -> None:
    assert "f1" not in score(TWO, frame([0, 0], [0, 0]))["test"]
    assert score(TWO, frame([0, 1], [0, 0]))["test"]["f1"] == 0.0
    assert score(TWO, frame([0, 0], [0, 1]))["test"]["f1"] == 0.0


def test_a_logit_that_is_no_number_is_an_error() -> None:
    broken = frame([0, 1], [0, 1])
    broken["logits"] = [[0.0, 1.0], [float("nan"), 1.0]]
    with pytest.raises(RunError, match="logit is not a finite number"):
        score(TWO, broken)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
def test_scores_are_those_of_the_confusion_matrix(pairs: list[tuple[int, int]]) -> None:
    gold, predicted = (list(side) for side in zip(*pairs, strict=True))
    scores = classification.score(THREE, frame(gold, predicted))
    total, right = len(pairs), sum(one == other for one, other in pairs)
    f1s, of_gold, of_predicted = [], [], []
    for label in range(3):
        of_gold.append(gold.count(label))
        of_predicted.append(predicted.count(label))
        if of_gold[-1] + of_predicted[-1]:
            f1s.append(2 * pairs.count((label, label)) / (of_gold[-1] + of_predicted[-1]))
    assert scores["accuracy"] == pytest.approx(right / total)
    assert scores["macro_f1"] == pytest.approx(sum(f1s) / len(f1s))
    spread = math.sqrt(
        (total**2 - sum(n * n for n in of_predicted)) * (total**2 - sum(n * n for n in of_gold))
    )
    shared = right * total - sum(a * b for a, b in zip(of_gold, of_predicted, strict=True))
    if len(set(gold)) > 1:
        assert scores["mcc"] == pytest.approx(shared / spread if spread else 0.0, abs=1e-12)


def test_f1_of_a_task_with_three_labels_is_refused() -> None:
    check_metrics(TWO.model_copy(update={"metrics": ("f1", "mcc")}))
    with pytest.raises(SpecError, match=r"no such metric.* \(it has accuracy, macro_f1, mcc\)"):
        check_metrics(THREE.model_copy(update={"metrics": ("f1",)}))
