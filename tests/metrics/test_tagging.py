"""Entity scores against values worked out by hand and a chunk parser written here."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.metrics import is_collapsed, score
from harness.spec import Data, HubSource, TokenClassification

TASK = TokenClassification(
    name="toy",
    kind="token_classification",
    labels=("PER", "LOC", "work-of-art"),
    metrics=("entity_f1",),
    data=Data(hub=HubSource(path="toy")),
)


def frame(gold: list[str], prediction: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "split": "test",
            "id": [str(row) for row in range(len(gold))],
            "gold": [tags.split() for tags in gold],
            "prediction": [tags.split() for tags in prediction],
            "unseen": 0,
        }
    )


def entity_f1(gold: list[str], prediction: list[str]) -> float:
    return score(TASK, frame(gold, prediction))["test"]["entity_f1"]


def test_only_o_predicted_where_there_is_one_entity_is_zero() -> None:
    outside = " ".join(["O"] * 10)
    assert entity_f1([outside[:-1] + "B-PER", outside], [outside, outside]) == 0.0


def test_entities_hidden_by_truncation_stay_in_the_gold() -> None:
    f1 = entity_f1(["B-PER I-PER O O B-LOC I-LOC"], ["B-PER I-PER O O O O"])
    assert f1 == pytest.approx(0.667, abs=5e-4)


def test_an_entity_without_a_beginning_is_none() -> None:
    assert entity_f1(["B-PER I-PER"], ["I-PER I-PER"]) == 0.0


def test_entities_of_the_whole_corpus_are_pooled() -> None:
    gold = ["B-PER I-PER O B-LOC", "B-LOC B-LOC", "O O"]
    predicted = ["B-PER I-PER O B-PER", "B-LOC I-LOC", "O O"]
    # right: PER(0,1). Predicted 3: that, PER(3), LOC(0,1). Gold 4.
    assert score(TASK, frame(gold, predicted))["test"] == {
        "entity_f1": pytest.approx(2 / 7),
        "entity_precision": pytest.approx(1 / 3),
        "entity_recall": pytest.approx(1 / 4),
    }


@pytest.mark.parametrize(
    ("gold", "predicted", "defined"),
    [
        ("O O", "O O", set()),
        ("O O", "O I-PER", set()),
        ("B-PER O", "O O", {"entity_f1", "entity_recall"}),
        ("O O", "B-PER O", {"entity_f1", "entity_precision"}),
    ],
)
def test_what_has_no_entities_to_count_is_absent(
    gold: str, predicted: str, defined: set[str]
) -> None:
    scores = score(TASK, frame([gold], [predicted]))["test"]
    assert scores == dict.fromkeys(defined, 0.0)


def test_a_sentence_without_words_counts_nothing() -> None:
    assert entity_f1(["", "B-PER"], ["", "B-PER"]) == 1.0
    assert score(TASK, frame([""], [""])) == {"test": {}}


def test_predicting_one_tag_everywhere_is_collapsed() -> None:
    gold = ["B-PER O", "O"]
    assert is_collapsed(TASK, frame(gold, ["O O", "O"]))
    assert is_collapsed(TASK, frame(gold, ["B-PER B-PER", "B-PER"]))
    assert not is_collapsed(TASK, frame(gold, ["B-PER O", "O"]))


def entities(tags: list[str]) -> set[tuple[int, int, str]]:
    """Parse strict IOB2: B-X and the I-X that follow it without a gap."""
    found = set()
    for start, tag in enumerate(tags):
        if tag.startswith("B-"):
            end = start + 1
            while end < len(tags) and tags[end] == "I-" + tag[2:]:
                end += 1
            found.add((start, end, tag[2:]))
    return found


TAG = st.sampled_from(TASK.tag_names)
SENTENCES = st.lists(st.lists(st.tuples(TAG, TAG), max_size=8), min_size=1, max_size=6)


@given(SENTENCES)
def test_scores_are_those_of_sets_of_entities(sentences: list[list[tuple[str, str]]]) -> None:
    gold = [[one for one, _ in pairs] for pairs in sentences]
    predicted = [[other for _, other in pairs] for pairs in sentences]
    in_gold = {(row, *entity) for row, tags in enumerate(gold) for entity in entities(tags)}
    in_predicted = {
        (row, *entity) for row, tags in enumerate(predicted) for entity in entities(tags)
    }
    right = len(in_gold & in_predicted)
    expected = {}
    if in_gold or in_predicted:
        expected["entity_f1"] = 2 * right / (len(in_gold) + len(in_predicted))
    if in_predicted:
        expected["entity_precision"] = right / len(in_predicted)
    if in_gold:
        expected["entity_recall"] = right / len(in_gold)
    found = score(TASK, frame([" ".join(tags) for tags in gold], [" ".join(t) for t in predicted]))
    assert found["test"] == pytest.approx(expected)
