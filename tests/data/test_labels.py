"""Gold labels."""

from __future__ import annotations

from typing import Any

import pytest

from harness.data.labels import class_indices, scores
from harness.data.rows import Rows
from harness.errors import DataError


def rows(values: list[Any], names: tuple[str, ...] | None = None) -> Rows:
    lines = range(2, len(values) + 2)
    return Rows({"label": values}, "f.tsv", lines, {} if names is None else {"label": names})


@pytest.mark.parametrize(
    ("values", "labels", "expected"),
    [
        (["pos", "neg "], ["neg", "pos"], [1, 0]),
        (["1", "0"], ["neg", "pos"], [1, 0]),
        ([1, 0.0], ["neg", "pos"], [1, 0]),
        ([True, False], ["no", "yes"], [1, 0]),
        ([True, False], ["true", "false"], [0, 1]),
        (["True", "False"], ["no", "yes"], [1, 0]),  # as pandas writes them to csv
        (["1", "0"], ["1", "0"], [0, 1]),  # names win over numbers
    ],
)
def test_labels_are_read_by_name_or_by_number(
    values: list[Any], labels: list[str], expected: list[int]
) -> None:
    found = class_indices(rows(values), "label", labels)
    assert found.tolist() == expected
    assert found.dtype == "int64"


def test_names_that_are_numbers_mean_the_same_in_every_split() -> None:
    stars = ["1", "2", "3"]
    assert class_indices(rows([1, 2]), "label", stars).tolist() == [0, 1]
    with pytest.raises(DataError, match="label '0' in column 'label' is not in the task card"):
        class_indices(rows([0, 1, 2]), "label", stars)  # not 0, 1, 2 by place, beside that


def test_declared_classes_in_another_order_are_mapped_by_name() -> None:
    declared = ("contradiction", "entailment", "neutral")
    labels = ["entailment", "neutral", "contradiction"]
    assert class_indices(rows([0, 1, 2], declared), "label", labels).tolist() == [2, 0, 1]


@pytest.mark.parametrize("declared", [("0", "1"), ("False", "True")])
def test_declared_classes_whose_names_say_nothing_are_mapped_in_order(
    declared: tuple[str, str],
) -> None:
    assert class_indices(rows([1, 0], declared), "label", ["no", "yes"]).tolist() == [1, 0]


def test_declared_classes_of_other_names_are_refused_since_an_order_would_be_a_guess() -> None:
    with pytest.raises(DataError, match="declares the classes pos, neg"):
        class_indices(rows([1, 0], ("pos", "neg")), "label", ["negative", "positive"])


def test_declared_classes_of_which_only_some_are_known_are_refused() -> None:
    with pytest.raises(DataError, match="declares the classes yes, unknown, no"):
        class_indices(rows([1, 0], ("yes", "unknown", "no")), "label", ["no", "yes", "maybe"])


def test_declared_classes_of_another_number_are_refused() -> None:
    with pytest.raises(DataError, match="declares the classes a, b, c"):
        class_indices(rows([1, 0], ("a", "b", "c")), "label", ["no", "yes"])


@pytest.mark.parametrize("value", ["-1", -1, None, "", float("nan")])
def test_an_unlabelled_row_is_refused(value: Any) -> None:
    with pytest.raises(DataError, match=r"f\.tsv:3: .* has no label .* choose another file"):
        class_indices(rows(["0", value]), "label", ["no", "yes"])
    with pytest.raises(DataError, match=r"f\.tsv:3: .* has no label"):
        class_indices(rows([0, value], ("no", "yes")), "label", ["no", "yes"])


def test_a_label_that_the_card_lacks_is_named_with_its_line() -> None:
    with pytest.raises(DataError, match=r"f\.tsv:3: label 'maybe' .*labels: no, yes"):
        class_indices(rows(["yes", "maybe", "no"]), "label", ["no", "yes"])
    with pytest.raises(DataError, match=r"f\.tsv:4: label '2'"):
        class_indices(rows(["0", "1", "2"]), "label", ["no", "yes"])


def test_scores_may_be_of_mixed_precision() -> None:
    assert scores(rows(["5.000", "3.6", "0", 1]), "label").tolist() == [5.0, 3.6, 0.0, 1.0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "high"], "f.tsv:3: 'high' in column 'label' is not a finite number"),
        (["1", "inf"], "f.tsv:3: 'inf'"),
        (["1", ""], "f.tsv:3: column 'label' has no label"),
        ([-1.0, -1.0], "f.tsv:2: column 'label' has no label"),
    ],
)
def test_bad_scores_are_named(values: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        scores(rows(values), "label")
