"""Correlations against values worked out by hand and formulas written out here."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RunError
from harness.metrics import is_collapsed, score
from harness.spec import Data, HubSource, SequenceRegression

TASK = SequenceRegression(
    name="toy",
    kind="sequence_regression",
    text="text",
    metrics=("spearman",),
    data=Data(hub=HubSource(path="toy")),
)


def frame(gold: list[float], prediction: list[float]) -> pd.DataFrame:
    ids = [str(row) for row in range(len(gold))]
    return pd.DataFrame({"split": "test", "id": ids, "gold": gold, "prediction": prediction})


def test_four_pairs_by_hand() -> None:
    scores = score(TASK, frame([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 10.0]))["test"]
    # Ranks 1 3 2 4: 1 - 6 * 2 / (4 * 15).
    # Deviations -1.5 -.5 .5 1.5 and -3 -1 -2 6: 13 / sqrt(5 * 50).
    assert scores == {
        "spearman": pytest.approx(0.8),
        "pearson": pytest.approx(13 / math.sqrt(5 * 50)),
    }


@pytest.mark.parametrize(
    ("gold", "prediction"),
    [
        ([1.0, 2.0, 3.0], [0.5, 0.5, 0.5]),
        ([2.0, 2.0, 2.0], [0.1, 0.2, 0.3]),
        ([1.0], [1.0]),
        ([1.0, 2.0, 3.0], [1e8, 1e8 + 1.5e-8, 1e8 - 1.5e-8]),
    ],
    ids=["constant predictions", "constant gold", "one example", "rounding"],
)
def test_an_undefined_correlation_is_absent(gold: list[float], prediction: list[float]) -> None:
    assert score(TASK, frame(gold, prediction)) == {"test": {}}


def test_constant_predictions_are_collapsed_even_with_the_noise_of_float32() -> None:
    assert is_collapsed(TASK, frame([1.0, 2.0], [0.5, 0.5]))
    assert is_collapsed(TASK, frame([1.0, 2.0], [3.0000002, 3.0]))
    assert not is_collapsed(TASK, frame([1.0, 2.0], [3.001, 3.0]))


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_prediction_that_is_no_number_is_an_error(number: float) -> None:
    with pytest.raises(RunError, match="prediction is not a finite number"):
        score(TASK, frame([1.0, 2.0], [0.0, number]))


def correlation(xs: list[float], ys: list[float]) -> float:
    x, y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    shared = math.fsum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return shared / math.sqrt(
        math.fsum((a - x) ** 2 for a in xs) * math.fsum((b - y) ** 2 for b in ys)
    )


def ranks(values: list[float]) -> list[float]:
    return [
        sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values
    ]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-50, 50)), min_size=2, max_size=30))
def test_correlations_are_those_of_the_definition(pairs: list[tuple[int, int]]) -> None:
    gold, predicted = ([float(x) for x in side] for side in zip(*pairs, strict=True))
    scores = score(TASK, frame(gold, predicted))["test"]
    if len(set(gold)) == 1 or len(set(predicted)) == 1:
        assert scores == {}
    else:
        assert scores["pearson"] == pytest.approx(correlation(gold, predicted), abs=1e-9)
        expected = correlation(ranks(gold), ranks(predicted))
        assert scores["spearman"] == pytest.approx(expected, abs=1e-9)
