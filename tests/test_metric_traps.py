"""The traps that scores of other tools have fallen into, each with its right value.

Where a real tool had the trap, its issue stands beside it. The cases are small enough to be checked
by hand, and go the way that a run's scores go: predictions in, scores out.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import TypeAdapter

from harness.errors import RunError
from harness.execute.record import keep_finite
from harness.ledger import LedgerWriter
from harness.metrics import check_metrics, is_collapsed, score
from harness.spec import Task

CARDS: dict[str, dict[str, Any]] = {
    "sequence_classification": {"text": "text", "labels": ["no", "yes"]},
    "sequence_regression": {"text": "text"},
    "token_classification": {"labels": ["PER", "LOC"]},
    "question_answering": {},
    "retrieval": {},
}


def card(kind: str, metric: str, **more: Any) -> Task:
    """Make a card of that kind with one metric, which must be one of its kind."""
    data = {"hub": {"path": "toy"}}
    fields = {"name": "toy", "kind": kind, "data": data, "metrics": [metric]}
    adapter: TypeAdapter[Task] = TypeAdapter(Task)
    task = adapter.validate_python(fields | CARDS[kind] | more)
    check_metrics(task)
    return task


def rows(**columns: list[Any]) -> pd.DataFrame:
    """Make predictions on test."""
    frame = pd.DataFrame(columns)
    ids = [f"q{row}" for row in range(len(frame))]
    return frame.assign(split="test", **({} if "id" in columns else {"id": ids}))


# --- ranking -------------------------------------------------------------------------------------

Query = tuple[dict[str, float], dict[str, int]]


def ranked(metric: str, *queries: Query, **more: Any) -> float:
    """Score the scores and the grades of each query's documents."""
    predictions = rows(
        documents=[list(scores) for scores, _ in queries],
        scores=[list(scores.values()) for scores, _ in queries],
        gold=[list(grades) for _, grades in queries],
        relevance=[list(grades.values()) for _, grades in queries],
    )
    return score(card("retrieval", metric, **more), predictions)["test"][metric]


def test_the_ideal_comes_from_the_qrels_and_not_from_what_was_found() -> None:
    found: Query = ({"a": 0.9}, {"a": 1, "b": 1, "c": 1})
    assert ranked("nDCG@10", found) == pytest.approx(0.469, abs=5e-4)
    assert ranked("paper/nDCG@10", found, corpus="judged") == 1.0


def test_a_judged_query_without_an_answer_counts_as_zero() -> None:  # beir#105
    assert ranked("nDCG@10", ({"a": 0.9}, {"a": 1}), ({}, {"b": 1})) == 0.5


@pytest.mark.parametrize("relevant", ["doc-0", "doc-5", "doc-9"])
def test_ids_are_worth_nothing_where_scores_are_equal(relevant: str) -> None:  # trec_eval#22
    tied = ({f"doc-{place}": 0.5 for place in range(10)}, {relevant: 1})
    assert ranked("nDCG@10", tied) == pytest.approx(0.454, abs=5e-4)


def test_a_query_may_be_called_as_a_document_is() -> None:  # beir#206
    assert ranked("RR@10", ({"q0": 0.9, "other": 0.1}, {"q0": 1})) == 1.0


def test_a_relevant_document_counts_with_its_grade() -> None:
    low, high = ({"a": 0.9, "b": 0.8}, {"a": 1, "b": 3}), ({"b": 0.9, "a": 0.8}, {"a": 1, "b": 3})
    discount = 1 / math.log2(3)
    assert ranked("nDCG@10", low) == pytest.approx((1 + 3 * discount) / (3 + discount))
    assert ranked("nDCG@10", high) == 1.0


def test_a_score_that_is_no_number_is_an_error_and_no_rank() -> None:
    with pytest.raises(RunError, match="query 'q0': a document's score is not a finite number"):
        ranked("nDCG@10", ({"a": math.nan, "b": 0.1}, {"a": 1}))


def test_a_document_may_not_be_found_twice() -> None:
    predictions = rows(documents=[["a", "a"]], scores=[[0.9, 0.8]], gold=[["a"]], relevance=[[1]])
    with pytest.raises(RunError, match="document 'a' is ranked twice"):
        score(card("retrieval", "nDCG@10"), predictions)


def test_a_small_corpus_is_in_the_name_of_the_score() -> None:
    assert ranked("judged/nDCG@10", ({"a": 0.9}, {"a": 1}), corpus="judged") == 1.0


# --- tagging -------------------------------------------------------------------------------------


def tagged(metric: str, gold: list[str], prediction: list[str], unseen: int = 0) -> float:
    """Score sentences of tags, written with spaces between them."""
    predictions = rows(
        gold=[tags.split() for tags in gold],
        prediction=[tags.split() for tags in prediction],
        unseen=[unseen] * len(gold),
    )
    return score(card("token_classification", metric), predictions)["test"][metric]


def test_a_tagger_that_finds_nothing_scores_nothing() -> None:
    gold = [" ".join(["O"] * 9 + ["B-PER"]), " ".join(["O"] * 10)]
    silent = [" ".join(["O"] * 10)] * 2
    assert tagged("entity_f1", gold, silent) == 0.0
    assert tagged("paper/macro_f1", gold, silent) == pytest.approx(0.737, abs=5e-4)


def test_words_that_no_window_showed_stay_in_the_gold() -> None:  # simpletransformers#1279
    gold = "B-PER I-PER O O B-LOC I-LOC"
    assert tagged("entity_f1", [gold], ["B-PER I-PER O O O O"], unseen=3) == pytest.approx(
        0.667, abs=5e-4
    )


def test_an_entity_that_begins_with_an_inner_tag_is_none_unless_asked() -> None:  # seqeval#23
    assert tagged("entity_f1", ["B-PER I-PER"], ["I-PER I-PER"]) == 0.0
    assert tagged("lenient_entity_f1", ["B-PER I-PER"], ["I-PER I-PER"]) == 1.0


# --- answers -------------------------------------------------------------------------------------

Answer = tuple[list[str], str, float]


def answered(metric: str, test: list[Answer], validation: list[Answer] = (), **more: Any) -> float:
    """Score golds, what is answered, and by how much silence would have been better."""
    splits = ["test"] * len(test) + ["validation"] * len(validation)
    gold, said, gaps = (list(column) for column in zip(*test, *validation, strict=True))
    predictions = rows(gold=gold, prediction_text=said, null_gap=gaps).assign(split=splits)
    return score(card("question_answering", metric, **more), predictions)["test"][metric]


def test_every_gold_answer_is_as_good_as_the_first() -> None:
    assert answered("exact_match", [(["in 1066", "1066"], "1066", 0.0)]) == 1.0


def test_a_letter_lost_at_the_edge_of_a_token_is_no_match() -> None:  # EuroEval#2171
    assert answered("exact_match", [(["Amsterdam"], "msterdam", 0.0)]) == 0.0
    assert answered("f1", [(["Amsterdam"], "msterdam", 0.0)]) == 0.0


def test_a_gold_answer_behind_the_window_stays_gold() -> None:
    assert answered("f1", [(["oak"], "elm", 0.0), (["elm"], "elm", 0.0)]) == 0.5


def test_the_threshold_of_silence_is_found_on_validation_alone() -> None:  # transformers#8710
    validation = [(["oak"], "oak", 1.0), ([], "elm", 3.0)]
    test = [([], "elm", 1.5), (["oak"], "oak", 2.5)]  # a threshold of their own would save none
    more = {"unanswerable": True}
    assert answered("f1", test, validation, **more) == 0.0
    assert answered("f1", validation, validation, **more) == 1.0
    assert answered("f1", [(["oak"], "oak", 1.0)], **more) == 0.0  # without validation it is 0


def test_the_paper_compares_tokens_with_the_first_gold_alone() -> None:
    predictions = rows(
        gold=[["in 1066", "1066"], []],
        prediction_text=["1066", ""],
        null_gap=[0.0, 0.0],
        gold_tokens=[[4, 5], []],
        prediction_tokens=[[5], []],
    )
    task = card("question_answering", "paper/token_f1", unanswerable=True)
    assert score(task, predictions)["test"]["paper/token_f1"] == pytest.approx((2 / 3 + 1) / 2)


# --- classes and numbers -------------------------------------------------------------------------


def test_a_class_that_is_always_said_has_the_accuracy_of_its_share_and_no_mcc() -> None:
    constant = rows(gold=[1, 1, 1, 0], prediction=[1] * 4, logits=[[0.0, 1.0]] * 4)
    scores = score(card("sequence_classification", "mcc"), constant)["test"]
    assert (scores["accuracy"], scores["paper/accuracy"], scores["mcc"]) == (0.75, 0.75, 0.0)
    assert is_collapsed(card("sequence_classification", "mcc"), constant)


def test_a_correlation_with_a_constant_is_absent_and_not_zero() -> None:
    constant = rows(gold=[1.0, 2.0, 3.0], prediction=[2.5] * 3)
    assert score(card("sequence_regression", "spearman"), constant) == {"test": {}}


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_run_that_gives_no_numbers_has_no_scores(number: float) -> None:
    with pytest.raises(RunError, match="logit is not a finite number"):
        score(
            card("sequence_classification", "accuracy"),
            rows(gold=[0, 1], prediction=[0, 0], logits=[[0.0, 0.0], [number, 0.0]]),
        )


def test_a_record_holds_no_number_that_json_has_not(tmp_path: Path) -> None:
    scores = {"test": {"accuracy": 0.5, "evaluate/mine": math.nan}}
    record = {"run_id": "a", "status": "ok", "finished": "2025-01-01T00:00:00+00:00"}
    with LedgerWriter(tmp_path) as ledger:
        with pytest.raises(ValueError, match="Out of range float"):
            ledger.append({**record, "scores": scores})
        ledger.append({**record, "scores": keep_finite(scores)})
        path = ledger.path
    assert json.loads(path.read_text())["scores"] == {"test": {"accuracy": 0.5}}
