"""What holds for the scores of every kind of task."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from harness.errors import SpecError
from harness.metrics import check_metrics, is_collapsed, score
from harness.metrics.scoring import KINDS
from harness.spec import Data, HubSource, SequenceClassification, SequenceRegression

DATA = Data(hub=HubSource(path="toy"))
REGRESSION = SequenceRegression(
    name="sim", kind="sequence_regression", text="text", metrics=("spearman",), data=DATA
)
PREDICTIONS = pd.DataFrame(
    {
        "split": ["validation", "test", "validation", "test"],
        "id": ["0", "0", "1", "1"],
        "gold": [1.0, 1.0, 2.0, 2.0],
        "prediction": [1.0, 2.0, 2.0, 1.0],
    }
)


def test_every_split_is_scored_by_itself() -> None:
    assert score(REGRESSION, PREDICTIONS) == {
        "validation": {"spearman": pytest.approx(1), "pearson": pytest.approx(1)},
        "test": {"spearman": pytest.approx(-1), "pearson": pytest.approx(-1)},
    }


def test_scores_are_plain_floats() -> None:
    values = [
        value for split in score(REGRESSION, PREDICTIONS).values() for value in split.values()
    ]
    assert {type(value) for value in values} == {float}


def test_collapse_is_judged_on_test_alone_and_needs_two_examples() -> None:
    constant = PREDICTIONS.assign(prediction=[1.0, 3.0, 2.0, 3.0])
    assert is_collapsed(REGRESSION, constant)
    assert not is_collapsed(REGRESSION, PREDICTIONS.assign(prediction=[3.0, 1.0, 3.0, 2.0]))
    assert not is_collapsed(REGRESSION, constant[:2])
    assert not is_collapsed(REGRESSION, constant[constant["split"] == "validation"])


def test_every_kind_of_task_has_a_row() -> None:
    assert list(KINDS) == [
        "sequence_classification",
        "sequence_regression",
        "token_classification",
        "question_answering",
        "retrieval",
    ]


def test_all_unknown_metrics_of_a_card_are_named_at_once_with_suggestions() -> None:
    task = SequenceClassification(
        name="sst2",
        kind="sequence_classification",
        text="text",
        labels=("no", "yes"),
        data=DATA,
        metrics=("acuracy", "f1", "paper/acuracy"),
    )
    with pytest.raises(SpecError) as caught:
        check_metrics(task)
    text = "this task has no such metric; did you mean {}? (it has accuracy, f1, precision, "
    text += "recall, macro_f1, weighted_f1, mcc, log_loss, ece, paper/accuracy, evaluate/NAME)"
    assert str(caught.value).splitlines() == [
        f"task sst2: metrics.0: 'acuracy': {text.format(repr('accuracy'))}",
        f"task sst2: metrics.2: 'paper/acuracy': {text.format(repr('paper/accuracy'))}",
    ]


@pytest.mark.parametrize("name", ["log_loss", "ece"])
def test_what_is_better_when_it_is_lower_can_not_choose_the_rate(name: str) -> None:
    task = SequenceClassification(
        name="toy", kind="sequence_classification", text="t", labels=("no", "yes"), data=DATA,
        metrics=(name, "accuracy"),
    )  # fmt: skip
    with pytest.raises(SpecError, match=rf"metrics\.0: '{name}': lower is better"):
        check_metrics(task)
    check_metrics(task.model_copy(update={"metrics": ("accuracy", name)}))


def test_only_the_metrics_that_are_asked_for_are_computed() -> None:
    assert score(REGRESSION, PREDICTIONS, ["pearson"])["test"].keys() == {"pearson"}
    assert score(REGRESSION, PREDICTIONS, [])["test"] == {}


def test_metrics_load_no_deep_learning_library() -> None:
    code = (
        "import sys, harness.metrics, harness.predictions, harness.ledger;"
        "print(sorted({'torch', 'transformers', 'datasets', 'ray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
