"""Scores of classes and of logits: by hand, and against formulas written out here."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

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


def frame(
    gold: list[int], prediction: list[int], logits: list[list[float]] | None = None
) -> pd.DataFrame:
    one_hot = [[float(label == place) for place in range(3)] for label in prediction]
    return pd.DataFrame(
        {
            "split": "test",
            "id": [str(row) for row in range(len(gold))],
            "gold": gold,
            "prediction": prediction,
            "logits": logits or one_hot,
        }
    )


def of_classes(scores: dict[str, float]) -> dict[str, float]:
    """Leave out what comes from the logits."""
    return {name: value for name, value in scores.items() if name not in {"log_loss", "ece"}}


def test_two_classes_by_hand() -> None:
    # true positives 2, false positives 1, false negatives 1, true negatives 1
    scores = score(TWO, frame([1, 1, 1, 0, 0], [1, 1, 0, 1, 0]))["test"]
    assert of_classes(scores) == {
        "accuracy": pytest.approx(3 / 5),
        "f1": pytest.approx(4 / 6),
        "precision": pytest.approx(2 / 3),
        "recall": pytest.approx(2 / 3),
        "macro_f1": pytest.approx((4 / 6 + 2 / 4) / 2),
        "weighted_f1": pytest.approx((3 * 4 / 6 + 2 * 2 / 4) / 5),
        "mcc": pytest.approx((2 * 1 - 1 * 1) / math.sqrt(3 * 3 * 2 * 2)),
        "paper/accuracy": pytest.approx(3 / 5),
    }


def test_three_classes_have_no_f1_of_their_own() -> None:
    scores = score(THREE, frame([0, 1, 2, 2], [0, 2, 2, 2]))["test"]
    assert of_classes(scores) == {
        "accuracy": pytest.approx(0.75),
        "macro_f1": pytest.approx((1 + 0 + 0.8) / 3),
        "weighted_f1": pytest.approx((1 + 0 + 2 * 0.8) / 4),
        "paper/accuracy": pytest.approx(0.75),
        "mcc": pytest.approx(5 / math.sqrt((16 - 10) * (16 - 6))),  # 4 * 3 - (1 + 0 + 6) = 5
    }


def test_constant_predictions_have_an_mcc_of_zero_and_are_collapsed() -> None:
    predictions = frame([1, 0, 1, 0], [1, 1, 1, 1])
    assert score(TWO, predictions)["test"]["mcc"] == 0.0
    assert is_collapsed(TWO, predictions)
    assert not is_collapsed(TWO, frame([1, 0, 1, 0], [1, 1, 1, 0]))


def test_mcc_is_absent_where_the_gold_is_constant() -> None:
    scores = score(TWO, frame([1, 1], [1, 0]))["test"]
    assert scores.keys() == set(classification.names(TWO)) - {"mcc"}


def test_f1_is_absent_where_no_positive_is_gold_or_predicted() -> None:
    assert "f1" not in score(TWO, frame([0, 0], [0, 0]))["test"]
    assert score(TWO, frame([0, 1], [0, 0]))["test"]["f1"] == 0.0
    assert score(TWO, frame([0, 0], [0, 1]))["test"]["f1"] == 0.0


def test_precision_and_recall_are_absent_where_nothing_is_predicted_or_to_be_found() -> None:
    def defined(gold: list[int], predicted: list[int]) -> set[str]:
        return set(score(TWO, frame(gold, predicted))["test"]) & {"precision", "recall"}

    assert defined([0, 1], [0, 0]) == {"recall"}
    assert defined([0, 0], [0, 1]) == {"precision"}
    assert defined([0, 0], [0, 0]) == set()
    assert score(TWO, frame([0, 1], [1, 0]))["test"]["precision"] == 0.0


def test_log_loss_is_the_surprise_at_the_gold_class() -> None:
    half, quarter = [0.0, 0.0], [math.log(3), 0.0]  # probabilities 1/2, 1/2 and 3/4, 1/4
    scores = score(TWO, frame([0, 1, 0], [0, 0, 0], [half, quarter, quarter]))["test"]
    assert scores["log_loss"] == pytest.approx((math.log(2) + math.log(4) - math.log(3 / 4)) / 3)


def test_log_loss_of_a_sure_mistake_is_large_but_finite() -> None:
    scores = score(TWO, frame([1], [0], [[3e4, -3e4]]))["test"]
    assert scores["log_loss"] == pytest.approx(6e4)


def test_the_calibration_error_weighs_the_gaps_of_the_bins_by_their_size() -> None:
    right = np.array([True, False, True, True])
    confidence = np.array([0.55, 0.6, 0.9, 0.95])
    # (0.5, 0.6]: accuracy 1/2, confidence 0.575; (0.8, 0.9]: 1, 0.9; (0.9, 1]: 1, 0.95
    expected = (2 * 0.075 + 0.1 + 0.05) / 4
    assert classification.calibration_error(right, confidence, 10) == pytest.approx(expected)


def test_the_calibration_error_has_fifteen_bins_by_default() -> None:
    right, confidence = np.array([True, False]), np.array([0.61, 0.65])  # both in (9/15, 10/15]
    apart = classification.calibration_error(right, confidence, 100)
    assert classification.calibration_error(right, confidence) == pytest.approx(0.13)
    assert apart == pytest.approx((0.39 + 0.65) / 2)


def test_certainty_that_is_always_right_has_no_calibration_error() -> None:
    scores = score(TWO, frame([0, 1], [0, 1], [[50.0, 0.0], [0.0, 50.0]]))["test"]
    assert scores["ece"] == pytest.approx(0, abs=1e-12)
    scores = score(TWO, frame([1, 0], [0, 1], [[50.0, 0.0], [0.0, 50.0]]))["test"]
    assert scores["ece"] == pytest.approx(1)


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(-40, 40), min_size=3, max_size=3)),
    min_size=1,
    max_size=30,
)


@given(ROWS)
def test_scores_of_logits_are_those_of_their_definitions(
    rows: list[tuple[int, list[int]]],
) -> None:
    gold = [label for label, _ in rows]
    logits = [[value / 8 for value in values] for _, values in rows]
    predicted = [values.index(max(values)) for values in logits]
    scores = score(THREE, frame(gold, predicted, logits), ["log_loss", "ece"])["test"]
    chances = [[math.exp(v) / sum(map(math.exp, values)) for v in values] for values in logits]
    assert scores["log_loss"] == pytest.approx(log_loss(gold, chances, labels=[0, 1, 2]))
    expected = 0.0
    for place in range(15):
        inside = [
            (label == guess, max(row))
            for label, guess, row in zip(gold, predicted, chances, strict=True)
            if place / 15 < max(row) <= (place + 1) / 15
        ]
        if inside:
            accuracy = sum(right for right, _ in inside) / len(inside)
            confidence = sum(sure for _, sure in inside) / len(inside)
            expected += len(inside) / len(rows) * abs(accuracy - confidence)
    assert scores["ece"] == pytest.approx(expected, abs=1e-9)


def test_a_logit_that_is_no_number_is_an_error() -> None:
    broken = frame([0, 1], [0, 1])
    broken["logits"] = [[0.0, 1.0], [float("nan"), 1.0]]
    with pytest.raises(RunError, match="logit is not a finite number"):
        score(TWO, broken)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
def test_scores_are_those_of_the_confusion_matrix(pairs: list[tuple[int, int]]) -> None:
    gold, predicted = (list(side) for side in zip(*pairs, strict=True))
    scores = score(THREE, frame(gold, predicted))["test"]
    total, right = len(pairs), sum(one == other for one, other in pairs)
    f1s, of_gold, of_predicted = [], [], []
    for label in range(3):
        of_gold.append(gold.count(label))
        of_predicted.append(predicted.count(label))
        if of_gold[-1] + of_predicted[-1]:
            f1s.append(2 * pairs.count((label, label)) / (of_gold[-1] + of_predicted[-1]))
    assert scores["accuracy"] == pytest.approx(right / total)
    assert scores["macro_f1"] == pytest.approx(sum(f1s) / len(f1s))
    assert scores["weighted_f1"] == pytest.approx(
        sum(
            2 * pairs.count((label, label)) * n / (n + m)
            for label, (n, m) in enumerate(zip(of_gold, of_predicted, strict=True))
            if n
        )
        / total
    )
    spread = math.sqrt(
        (total**2 - sum(n * n for n in of_predicted)) * (total**2 - sum(n * n for n in of_gold))
    )
    shared = right * total - sum(a * b for a, b in zip(of_gold, of_predicted, strict=True))
    if len(set(gold)) > 1:
        assert scores["mcc"] == pytest.approx(shared / spread if spread else 0.0, abs=1e-12)


def test_f1_of_a_task_with_three_labels_is_refused() -> None:
    check_metrics(TWO.model_copy(update={"metrics": ("f1", "mcc")}))
    with pytest.raises(SpecError, match=r"no such metric.* \(it has accuracy, macro_f1, "):
        check_metrics(THREE.model_copy(update={"metrics": ("f1",)}))
