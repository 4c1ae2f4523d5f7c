"""SQuAD's metrics against values worked out by hand and the definition written out here."""

from __future__ import annotations

import math
import re
import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RunError
from harness.metrics import is_collapsed, score
from harness.metrics.answers import best_threshold, exact_match, f1, normalise
from harness.spec import Data, HubSource, QuestionAnswering

ALWAYS, SOMETIMES = (
    QuestionAnswering(
        name="toy",
        kind="question_answering",
        unanswerable=unanswerable,
        metrics=("f1",),
        data=Data(hub=HubSource(path="toy")),
    )
    for unanswerable in (False, True)
)
Row = tuple[list[str], str, float]


def frame(**splits: list[Row]) -> pd.DataFrame:
    rows = [
        (split, str(row), *values)
        for split, part in splits.items()
        for row, values in enumerate(part)
    ]
    return pd.DataFrame(rows, columns=["split", "id", "gold", "prediction_text", "null_gap"])


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Eiffel Tower!", "eiffel tower"),
        ("an apple a day", "apple day"),
        ("U.S.", "us"),
        ("theatre", "theatre"),
        ("«the» end", "« » end"),  # only ASCII punctuation goes, as in the official script
        ("the", ""),
        ("A\u00a0B\n", "b"),
    ],
)
def test_normalising_takes_out_case_punctuation_articles_and_spaces(text: str, normal: str) -> None:
    assert normalise(text) == normal


@pytest.mark.parametrize(
    ("prediction", "golds", "exact", "overlap"),
    [
        ("the Denver Broncos.", ["Denver Broncos"], 1, 1),
        ("Denver", ["Denver Broncos"], 0, 2 / 3),
        ("Denver", ["Carolina Panthers", "Denver Broncos", "denver"], 1, 1),
        ("new york new york", ["New York"], 0, 2 / 3),
        ("amsterdam", ["msterdam"], 0, 0),
        ("", [], 1, 1),
        ("Denver", [], 0, 0),
        ("", ["Denver"], 0, 0),
        ("", ["the", "Denver"], 0, 0),
        ("The", ["the"], 1, 1),
    ],
)
def test_an_answer_is_held_against_its_best_gold(
    prediction: str, golds: list[str], exact: float, overlap: float
) -> None:
    assert exact_match(prediction, golds) == exact
    assert f1(prediction, golds) == pytest.approx(overlap)


def official(prediction: str, golds: list[str]) -> tuple[int, float]:
    """Score one example as the evaluation of SQuAD 2.0 is described to do, word by word."""

    def clean(text: str) -> str:
        kept = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())

    golds = [gold for gold in golds if clean(gold)] or [""]
    best = 0.0
    for gold in golds:
        gold_words, words = clean(gold).split(), clean(prediction).split()
        if not gold_words or not words:
            best = max(best, int(gold_words == words))
            continue
        left = list(gold_words)
        for word in words:
            if word in left:
                left.remove(word)
        same = len(gold_words) - len(left)
        if same:
            precision, recall = same / len(words), same / len(gold_words)
            best = max(best, 2 * precision * recall / (precision + recall))
    return max(int(clean(gold) == clean(prediction)) for gold in golds), best


WORDS = ["the", "A", "an", "Oak", "oak's", "oak", "elm", "-", "x.y", "é", "É", "a-b", "$1,000.5"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
ANY_TEXT = st.one_of(TEXT, st.text("aAn theé日—“”.,-'\u00a0\u2009\t\n", max_size=12))
EXAMPLE = st.tuples(st.lists(TEXT, max_size=3), TEXT, st.integers(-3, 3).map(float))


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=4))
def test_scores_of_an_answer_are_the_official_ones(prediction: str, golds: list[str]) -> None:
    exact, overlap = official(prediction, golds)
    assert exact_match(prediction, golds) == exact
    assert f1(prediction, golds) == pytest.approx(overlap)


def thousand_rows() -> list[Row]:
    """Generate questions: some answered rightly, some nearly, a third without gold answers."""
    generator = np.random.default_rng(0)

    def text(longest: int) -> str:
        return " ".join(generator.choice(WORDS, generator.integers(longest + 1)))

    rows: list[Row] = []
    for _ in range(1000):
        golds = [text(4) or "oak" for _ in range(generator.integers(4))]
        said = str(generator.choice(golds)) if golds and generator.random() < 0.5 else text(5)
        rows.append((golds, said.upper() if generator.random() < 0.3 else said, 0.0))
    return rows


def test_a_thousand_generated_answers_score_as_in_the_official_evaluation() -> None:
    rows = [
        (golds, said, -1.0 if number % 5 else 1.0)
        for number, (golds, said, _) in enumerate(thousand_rows())
    ]
    earned = [official("" if gap > 0 else said, golds) for golds, said, gap in rows]
    for golds, said, _ in rows:
        expected_pair = pytest.approx(official(said, golds))
        assert (exact_match(said, golds), f1(said, golds)) == expected_pair
    expected = {"null_threshold": 0.0}
    for key, chosen in {
        ("exact_match", "f1"): earned,
        ("HasAns_exact", "HasAns_f1"): [e for e, row in zip(earned, rows, strict=True) if row[0]],
        ("NoAns_exact", "NoAns_f1"): [e for e, row in zip(earned, rows, strict=True) if not row[0]],
    }.items():
        assert len(chosen) > 200
        expected |= {
            name: sum(pair[place] for pair in chosen) / len(chosen)
            for place, name in enumerate(key)
        }
    assert score(SOMETIMES, frame(test=rows))["test"] == pytest.approx(expected)
    assert 0.2 < expected["exact_match"] < 0.8  # neither all right nor all wrong


def test_a_task_with_answers_only_ignores_the_gap() -> None:
    predictions = frame(
        validation=[(["x"], "x", 0.0)], test=[(["oak"], "oak", 9.0), (["x"], "y", 0.0)]
    )
    assert score(ALWAYS, predictions) == {
        "validation": {"exact_match": 1.0, "f1": 1.0},
        "test": {"exact_match": 0.5, "f1": 0.5},
    }


def test_the_threshold_is_chosen_on_validation_and_applied_to_test() -> None:
    validation: list[Row] = [
        (["oak"], "oak", -2.0),
        (["elm"], "elm", 1.0),  # answered rightly up to here,
        ([], "ash", 3.0),  # rightly silent from here on
        ([], "ash", 5.0),
    ]
    test: list[Row] = [
        (["oak"], "oak", 2.5),
        (["elm"], "elm", 1.5),
        ([], "ash", 1.9),
        ([], "x", 2.1),
    ]
    found = score(SOMETIMES, frame(validation=validation, test=test), ["exact_match", "f1"])
    assert found == {
        "validation": {"exact_match": 1.0, "f1": 1.0, "null_threshold": 2.0},
        "test": {"exact_match": 0.5, "f1": 0.5, "null_threshold": 2.0},
    }


def test_questions_with_and_without_an_answer_are_scored_apart_under_the_official_keys() -> None:
    test: list[Row] = [
        (["oak tree"], "oak", -1.0),
        (["elm"], "elm", 1.0),  # silent, wrongly
        ([], "ash", 1.0),  # silent, rightly
        ([], "ash", -1.0),
        ([], "ash", 2.0),
    ]
    assert score(SOMETIMES, frame(test=test))["test"] == pytest.approx(
        {
            "exact_match": 2 / 5,
            "f1": (2 / 3 + 2) / 5,
            "HasAns_exact": 0.0,
            "HasAns_f1": (2 / 3) / 2,
            "NoAns_exact": 2 / 3,
            "NoAns_f1": 2 / 3,
            "null_threshold": 0.0,
        }
    )


def test_a_part_without_questions_has_no_score() -> None:
    scores = score(SOMETIMES, frame(test=[(["oak"], "oak", -1.0)]))["test"]
    assert scores.keys() == {"exact_match", "f1", "HasAns_exact", "HasAns_f1", "null_threshold"}


def test_the_test_split_has_no_say_in_the_threshold() -> None:
    validation: list[Row] = [(["oak"], "oak", 0.0), ([], "ash", 1.0)]
    one = frame(validation=validation, test=[(["oak"], "oak", 7.0)])
    other = frame(validation=validation, test=[([], "oak", -7.0)])
    assert score(SOMETIMES, one)["test"]["null_threshold"] == 0.5
    assert score(SOMETIMES, other)["test"]["null_threshold"] == 0.5


def test_without_validation_the_threshold_is_zero_and_zero_is_answered() -> None:
    predictions = frame(test=[(["oak"], "oak", 0.0), ([], "ash", 0.1)])
    assert score(SOMETIMES, predictions, ["f1"]) == {"test": {"f1": 1.0, "null_threshold": 0.0}}


def test_silence_everywhere_and_answers_everywhere_are_candidates() -> None:
    gaps = np.array([1.0, 2.0])
    zeros, ones = np.zeros(2), np.ones(2)
    assert best_threshold(gaps, answered=zeros, silent=ones) == 0.0  # 1 below the lowest
    assert best_threshold(gaps, answered=ones, silent=zeros) == 3.0  # 1 above the highest


def test_of_equally_good_thresholds_the_nearest_to_zero_is_taken_then_the_lower() -> None:
    none = np.zeros(4)
    assert best_threshold(np.array([-9.0, -3.0, 5.0, 6.0]), none, none) == 1.0
    assert best_threshold(np.array([-3.0, -1.0, 1.0, 3.0])[[2, 0, 3, 1]], none, none) == 0.0
    assert best_threshold(np.array([-3.0, -1.0, -1.0, 5.0])[:2], none[:2], none[:2]) == 0.0
    assert best_threshold(np.array([-3.0, 1.0, 3.0]), none[:3], none[:3]) == -1.0


def test_examples_with_the_same_gap_are_not_parted() -> None:
    gaps = np.array([1.0, 1.0, 1.0])
    threshold = best_threshold(gaps, np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0]))
    assert threshold == 0.0


def test_gaps_without_a_number_between_them_are_parted_all_the_same() -> None:
    gaps = np.array([1.0, math.nextafter(1.0, 2.0)])
    threshold = best_threshold(gaps, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert list(gaps <= threshold) == [True, False]


@given(st.lists(EXAMPLE, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_no_threshold_is_better_on_validation(rows: list[Row], order: object) -> None:
    found = score(SOMETIMES, frame(validation=rows))["validation"]

    def mean_f1(threshold: float) -> float:
        said = [("" if gap > threshold else text, golds) for golds, text, gap in rows]
        return sum(official(text, golds)[1] for text, golds in said) / len(rows)

    assert found["f1"] == pytest.approx(mean_f1(found["null_threshold"]))
    assert (
        found["f1"]
        >= max(mean_f1(gap + shift) for _, _, gap in rows for shift in (-0.5, 0.5)) - 1e-9
    )
    shuffled = list(rows)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    again = score(SOMETIMES, frame(validation=shuffled))["validation"]
    assert again["null_threshold"] == found["null_threshold"]


@pytest.mark.parametrize("gap", [math.nan, math.inf])
def test_a_gap_that_is_no_number_is_an_error(gap: float) -> None:
    with pytest.raises(RunError, match="null_gap is not a finite number"):
        score(SOMETIMES, frame(test=[([], "oak", gap)]))


def test_silence_on_every_question_is_collapsed() -> None:
    always: list[Row] = [(["oak"], "oak", 5.0), (["elm"], "elm", 6.0)]
    assert is_collapsed(SOMETIMES, frame(test=always))
    assert not is_collapsed(ALWAYS, frame(test=always))
    assert not is_collapsed(SOMETIMES, frame(test=always, validation=always))
    assert is_collapsed(ALWAYS, frame(test=[(["oak"], "x", 0.0), (["elm"], "x", 0.0)]))


def with_tokens(predictions: pd.DataFrame, gold: list[list[int]], said: list[list[int]]) -> float:
    predictions = predictions.assign(gold_tokens=gold, prediction_tokens=said)
    return score(SOMETIMES, predictions)["test"]["paper/token_f1"]


def test_the_paper_compares_sets_of_tokens_of_the_first_gold() -> None:
    one = frame(test=[(["b c", "a b c d"], "c d", -1.0)])
    assert with_tokens(one, [[1, 2]], [[2, 3]]) == pytest.approx(2 * 1 / (2 + 2))


def test_for_the_paper_no_tokens_equal_no_tokens_and_nothing_else() -> None:
    rows: list[Row] = [([], "a", 1.0), ([], "a", -1.0), (["a"], "a", 1.0), (["a"], "a", -1.0)]
    gold, said = [[], [], [0], [0]], [[0], [0], [0], [0]]
    # silent rightly, not silent, silent wrongly (token 0 is a token as others are), answered
    assert with_tokens(frame(test=rows), gold, said) == pytest.approx((1 + 0 + 0 + 1) / 4)


def test_predictions_without_tokens_have_no_score_of_the_paper() -> None:
    assert "paper/token_f1" not in score(SOMETIMES, frame(test=[([], "", 0.0)]))["test"]
