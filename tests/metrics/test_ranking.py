"""Scores of rankings: names, ideal, missing queries, ties, ids, and what is refused."""

from __future__ import annotations

import math
import time
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import ndcg_score

from harness.errors import RunError, SpecError
from harness.metrics import check_metrics, is_collapsed, score
from harness.spec import Data, HubSource, Retrieval


def task(**more: Any) -> Retrieval:
    values = {"metrics": ("nDCG@10",), **more}
    return Retrieval(name="toy", kind="retrieval", data=Data(hub=HubSource(path="toy")), **values)


def frame(*queries: tuple[dict[str, float], dict[str, int]]) -> pd.DataFrame:
    """Build predictions from the scores and the grades of each query's documents."""
    return pd.DataFrame(
        {
            "split": "test",
            "id": [f"q{row}" for row in range(len(queries))],
            "documents": [list(scores) for scores, _ in queries],
            "scores": [list(scores.values()) for scores, _ in queries],
            "gold": [list(grades) for _, grades in queries],
            "relevance": [list(grades.values()) for _, grades in queries],
        }
    )


def test_the_ideal_comes_from_all_judged_documents() -> None:
    scores = score(task(), frame(({"a": 0.9}, {"a": 1, "b": 1, "c": 1})))["test"]
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert scores == {
        "nDCG@10": pytest.approx(1 / ideal),
        "RR@10": 1.0,
        "R@100": pytest.approx(1 / 3),
    }
    assert scores["nDCG@10"] == pytest.approx(0.469, abs=5e-4)


def test_a_judged_query_without_documents_counts_as_zero() -> None:
    scores = score(task(), frame(({"a": 0.9}, {"a": 1}), ({}, {"b": 1})))["test"]
    assert scores == {"nDCG@10": 0.5, "RR@10": 0.5, "R@100": 0.5}


@pytest.mark.parametrize("relevant", [f"d{place}" for place in range(10)])
def test_ids_do_not_decide_ties(relevant: str) -> None:
    tied = frame(({f"d{place}": 0.5 for place in range(10)}, {relevant: 1}))
    assert score(task(), tied)["test"]["nDCG@10"] == pytest.approx(0.454, abs=5e-4)


def test_scores_that_are_equal_in_float32_are_ties() -> None:
    found = frame(({"a": 0.1, "b": 0.1 - 1e-12}, {"b": 1}))
    assert score(task(), found)["test"]["RR@10"] == 0.75


def test_the_order_is_that_of_the_scores() -> None:
    assert score(task(), frame(({"a": 0.1, "b": 0.9}, {"b": 1})))["test"]["RR@10"] == 1.0


def test_a_query_and_a_document_may_have_the_same_id() -> None:
    scores = score(task(), frame(({"q0": 0.9, "a": 0.1}, {"q0": 1})))["test"]
    assert scores["nDCG@10"] == 1.0


def test_a_query_with_no_relevant_document_scores_zero() -> None:
    scores = score(task(), frame(({"a": 0.9}, {"a": 0}), ({"a": 0.9}, {"a": 1})))["test"]
    assert scores == {"nDCG@10": 0.5, "RR@10": 0.5, "R@100": 0.5}


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_score_that_is_no_number_is_an_error_that_names_the_query(number: float) -> None:
    with pytest.raises(RunError, match="query 'q1': a document's score is not a finite number"):
        score(task(), frame(({"a": 0.9}, {"a": 1}), ({"a": 0.9, "b": number}, {"a": 1})))


def test_a_document_ranked_twice_is_an_error_that_names_it() -> None:
    twice = frame(({"a": 0.9, "b": 0.8}, {"a": 1}))
    twice.at[0, "documents"] = ["b", "b"]
    with pytest.raises(RunError, match="query 'q0': document 'b' is ranked twice"):
        score(task(), twice)


def test_measures_of_the_card_come_beside_the_standard_ones() -> None:
    extra = task(metrics=("AP", "P(rel=2)@1", "nDCG(dcg='exp-log2')@10"))
    check_metrics(extra)
    scores = score(extra, frame(({"a": 0.9, "b": 0.8}, {"a": 1, "b": 2})))["test"]
    discount = 1 / math.log2(3)
    assert scores == {
        "nDCG@10": pytest.approx((1 + 2 * discount) / (2 + discount)),
        "RR@10": 1.0,
        "R@100": 1.0,
        "AP": 1.0,
        "P(rel=2)@1": 0.0,
        "nDCG(dcg='exp-log2')@10": pytest.approx((1 + 3 * discount) / (3 + discount)),
    }


def test_a_judged_corpus_is_in_the_names_of_its_scores() -> None:
    judged = task(corpus="judged", metrics=("judged/nDCG@10", "judged/AP"))
    check_metrics(judged)
    scores = score(judged, frame(({"a": 0.9}, {"a": 1})))["test"]
    standard = ["judged/nDCG@10", "judged/RR@10", "judged/R@100"]
    assert list(scores) == [*standard, "paper/nDCG@10", "judged/AP"]


def test_a_standard_measure_deeper_than_the_ranking_is_left_out() -> None:
    scores = score(task(depth=20), frame(({"a": 0.9}, {"a": 1})))["test"]
    assert list(scores) == ["nDCG@10", "RR@10"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nDGC@10", "no such measure; did you mean 'nDCG@10'?"),
        ("ndcg@10", "no such measure; did you mean 'nDCG@10'?"),
        ("accuracy", "no such measure (such names are nDCG@10, "),
        ("nDCG@ten", "no such measure; did you mean 'nDCG@10'?"),
        ("__import__('os')", "no such measure"),
        ("MRR@10", "write it as 'RR@10'"),
        ("nDCG@10 ", "write it as 'nDCG@10'"),
        ("Bpref", "no value averaged over ties; take one of nDCG, P, R, RR, AP, Success, Judged"),
        ("nDCG(judged_only=True)@10", "parameter 'judged_only' is not supported"),
        ("nDCG(rel=2)@10", "parameter 'rel' is not supported"),
        ("nDCG(dcg='log3')@10", "dcg must be"),
        ("P", "needs a cutoff, such as P@10"),
        ("RR@0", "cutoff must be a whole number from 1 on"),
        ("R@200", "looks deeper than the 100 documents kept a query"),
        ("judged/nDCG@10", "the corpus is `full`, so say 'nDCG@10'"),
        ("Judged", "needs a cutoff, such as Judged@10"),
        ("paper/nDCG@10", "the paper ranks judged documents alone; set `corpus: judged`"),
        ("paper/RR@10", "the paper has one score of rankings, 'paper/nDCG@10'"),
    ],
)
def test_a_name_that_is_no_measure_is_refused(name: str, words: str) -> None:
    with pytest.raises(SpecError) as caught:
        check_metrics(task(metrics=("nDCG@10", name)))
    assert str(caught.value).startswith(f"task toy: metrics.1: {name!r}: ")
    assert words in str(caught.value)


def test_with_a_judged_corpus_the_name_must_say_so() -> None:
    with pytest.raises(SpecError, match="the corpus is `judged`, so say 'judged/AP'"):
        check_metrics(task(corpus="judged", metrics=("AP",)))


def paper_score(*queries: tuple[dict[str, float], dict[str, int]]) -> float:
    judged = task(corpus="judged", metrics=("paper/nDCG@10",))
    check_metrics(judged)
    return score(judged, frame(*queries))["test"]["paper/nDCG@10"]


def test_the_ideal_of_the_paper_is_the_best_order_of_the_ten_that_were_retrieved() -> None:
    ten = {f"d{place}": 1 - place / 100 for place in range(10)}
    grades = {"d1": 1, "d4": 2, "d10": 3, "elsewhere": 3}
    gain = 1 / math.log2(3) + 2 / math.log2(6)
    assert paper_score((ten, grades)) == pytest.approx(gain / (2 + 1 / math.log2(3)))
    eleven = {**ten, "d10": 0.1}  # what is behind the ten has no say
    assert paper_score((eleven, grades)) == pytest.approx(gain / (2 + 1 / math.log2(3)))


def test_the_score_of_the_paper_equals_that_of_scikit_learn_without_ties() -> None:
    generator = np.random.default_rng(0)
    scores = np.stack([generator.permutation(10) for _ in range(50)]) / 10
    grades = generator.integers(0, 3, (50, 10))
    found = paper_score(
        *(
            ({f"d{n}": v for n, v in enumerate(row)}, {f"d{n}": int(g) for n, g in enumerate(own)})
            for row, own in zip(scores, grades, strict=True)
        )
    )
    assert found == pytest.approx(ndcg_score(grades, scores))


def test_a_query_of_which_nothing_relevant_is_retrieved_scores_zero_in_the_paper_too() -> None:
    assert paper_score(({"a": 0.9}, {"b": 1}), ({"b": 0.9}, {"b": 1}), ({}, {"b": 1})) == 1 / 3


def test_a_ranking_of_fewer_than_ten_has_no_score_of_the_paper() -> None:
    with pytest.raises(SpecError, match="looks deeper than the 9 documents kept"):
        check_metrics(task(corpus="judged", depth=9, metrics=("paper/nDCG@10",)))


def test_the_share_of_judged_documents_shows_how_far_the_judgements_reach() -> None:
    extra = task(metrics=("Judged@2",))
    check_metrics(extra)
    scores = score(extra, frame(({"a": 0.9, "b": 0.8, "c": 0.7}, {"a": 0, "c": 1})))["test"]
    assert scores["Judged@2"] == 0.5


def test_equal_scores_or_equal_rankings_are_collapsed() -> None:
    grades = {"a": 1}
    flat, sharp = {"a": 0.5, "b": 0.5 - 1e-7}, {"a": 0.5, "b": 0.4}
    assert is_collapsed(task(), frame((flat, grades), ({"b": 0.5, "a": 0.5}, grades)))
    assert is_collapsed(task(), frame((sharp, grades), (sharp, grades)))
    assert not is_collapsed(task(), frame((sharp, grades), ({"b": 0.5, "a": 0.4}, grades)))
    assert not is_collapsed(task(), frame((flat, grades), ({"b": 0.5, "a": 0.4}, grades)))


def many_queries(queries: int, depth: int) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    rows = []
    for _ in range(queries):
        documents = [f"d{number}" for number in generator.permutation(8 * depth)[:depth]]
        scores = np.sort(generator.random(depth).astype(np.float32))[::-1]
        gold = {
            f"d{number}": int(generator.integers(1, 3))
            for number in generator.integers(800, size=3)
        }
        rows.append((dict(zip(documents, scores.tolist(), strict=True)), gold))
    return frame(*rows)


def test_a_thousand_queries_score_as_in_ir_measures() -> None:
    predictions = many_queries(1000, 100)
    names = ["nDCG@10", "RR@10", "R@100", "AP", "P@10", "AP@20", "nDCG@3", "Judged@10"]
    qrels, run = (
        {
            query: dict(zip(keys, values, strict=True))
            for query, keys, values in zip(predictions["id"], *columns, strict=True)
        }
        for columns in (
            (predictions["gold"], predictions["relevance"]),
            (predictions["documents"], predictions["scores"]),
        )
    )
    expected = ir_measures.calc_aggregate(
        [ir_measures.parse_measure(name) for name in names], qrels, run
    )
    begin = time.perf_counter()
    found = score(task(metrics=tuple(names)), predictions)["test"]
    assert time.perf_counter() - begin < 2  # about 0.1 s on an idle core
    assert found == pytest.approx({str(measure): value for measure, value in expected.items()})
