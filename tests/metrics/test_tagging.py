"""Entity scores against values worked out by hand and a chunk parser written here."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from harness.errors import SpecError
from harness.metrics import check_metrics, is_collapsed, score
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


def strict(gold: list[str], prediction: list[str]) -> dict[str, float]:
    names = ["entity_f1", "entity_precision", "entity_recall"]
    return score(TASK, frame(gold, prediction), names)["test"]


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
    assert strict(gold, predicted) == {
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
    assert strict([gold], [predicted]) == dict.fromkeys(defined, 0.0)


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
    found = strict([" ".join(tags) for tags in gold], [" ".join(tags) for tags in predicted])
    assert found == pytest.approx(expected)


def one(name: str, gold: list[str], prediction: list[str]) -> float | None:
    return score(TASK, frame(gold, prediction), [name])["test"].get(name)


def test_leniently_an_entity_may_begin_with_an_inner_tag() -> None:
    assert one("lenient_entity_f1", ["B-PER I-PER O"], ["I-PER I-PER O"]) == 1.0
    # I-LOC after B-PER begins an entity of its own: right PER(0), wrong LOC(1)
    assert one("lenient_entity_f1", ["B-PER O"], ["B-PER I-LOC"]) == pytest.approx(2 / 3)
    assert one("lenient_entity_f1", ["O O"], ["O I-PER"]) == 0.0
    assert one("lenient_entity_f1", ["O O"], ["O O"]) is None


def lenient_entities(tags: list[str]) -> set[tuple[int, int, str]]:
    """Parse as conlleval: an entity goes on through I- of its type, and begins anywhere else."""
    found, start = set(), 0
    for end in range(1, len(tags) + 1):
        inside = tags[start] != "O"
        if end < len(tags) and inside and tags[end] == "I-" + tags[start][2:]:
            continue
        if inside:
            found.add((start, end, tags[start][2:]))
        start = end
    return found


@given(SENTENCES)
def test_lenient_scores_are_those_of_sets_of_entities(
    sentences: list[list[tuple[str, str]]],
) -> None:
    gold, predicted = (
        {
            (row, *entity)
            for row, pairs in enumerate(sentences)
            for entity in lenient_entities([pair[side] for pair in pairs])
        }
        for side in (0, 1)
    )
    expected = None
    if gold or predicted:
        expected = pytest.approx(2 * len(gold & predicted) / (len(gold) + len(predicted)))
    texts = [[" ".join(pair[side] for pair in pairs) for pairs in sentences] for side in (0, 1)]
    assert one("lenient_entity_f1", *texts) == expected


def test_each_type_of_entity_has_an_f1_when_it_is_asked_for() -> None:
    card = TASK.model_copy(update={"metrics": ("entity_f1/PER", "entity_f1/work-of-art")})
    check_metrics(card)
    tags = frame(["B-PER O B-LOC", "B-PER"], ["B-PER O B-PER", "B-PER"])
    scores = score(card, tags)["test"]
    assert scores["entity_f1/PER"] == pytest.approx(2 * 2 / (2 + 3))
    assert "entity_f1/work-of-art" not in scores  # no such entity in gold or prediction
    assert "entity_f1/LOC" not in scores  # nobody asked
    assert one("entity_f1/LOC", ["B-LOC"], ["O"]) == 0.0
    assert one("entity_f1/LOC", ["O"], ["O"]) is None
    with pytest.raises(SpecError, match="did you mean 'entity_f1/PER'"):
        check_metrics(TASK.model_copy(update={"metrics": ("entity_f1/PERS",)}))


def test_the_paper_averages_over_the_tags_of_a_sentence_then_over_sentences() -> None:
    nine = " ".join(["O"] * 9)
    found = one("paper/macro_f1", [f"{nine} B-PER", f"{nine} O"], [f"{nine} O"] * 2)
    assert found == pytest.approx(((18 / 19 + 0) / 2 + 1) / 2)
    # O is right, B-PER is wrong in one place, I-PER is right in one of two: the tags are apart
    gold, predicted = "O B-PER I-PER I-PER", "O I-PER I-PER B-PER"
    assert one("paper/macro_f1", [gold], [predicted]) == pytest.approx((1 + 0 + 1 / 2) / 3)
    assert one("paper/macro_f1", ["", "O"], ["", "B-PER"]) == 0.0  # no words, no say
    assert one("paper/macro_f1", [""], [""]) is None


@given(SENTENCES)
def test_the_score_of_the_paper_is_that_of_scikit_learn_sentence_by_sentence(
    sentences: list[list[tuple[str, str]]],
) -> None:
    sides = [[[pair[side] for pair in pairs] for pairs in sentences] for side in (0, 1)]
    values = [
        f1_score(gold, predicted, average="macro", zero_division=0.0)
        for gold, predicted in zip(*sides, strict=True)
        if gold
    ]
    expected = pytest.approx(sum(values) / len(values)) if values else None
    assert one("paper/macro_f1", *([" ".join(tags) for tags in side] for side in sides)) == expected
