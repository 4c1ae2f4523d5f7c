"""Ranking measures: by hand, against ir-measures without ties, against all orders with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.metrics import ties
from harness.metrics.ties import Rankings

Measure = Callable[[Rankings], np.ndarray]
Ranking = list[tuple[float, int]]  # score and grade of each document, best first

MEASURES: dict[str, Measure] = {
    "nDCG": ties.ndcg,
    "nDCG@3": lambda rankings: ties.ndcg(rankings, 3),
    "P@3": lambda rankings: ties.precision(rankings, 3),
    "R@3": lambda rankings: ties.recall(rankings, 3),
    "R(rel=2)@3": lambda rankings: ties.recall(rankings, 3, rel=2),
    "RR": ties.reciprocal_rank,
    "RR@3": lambda rankings: ties.reciprocal_rank(rankings, 3),
    "RR(rel=2)@3": lambda rankings: ties.reciprocal_rank(rankings, 3, rel=2),
    "AP": ties.average_precision,
    "AP@3": lambda rankings: ties.average_precision(rankings, 3),
    "AP(rel=2)": lambda rankings: ties.average_precision(rankings, rel=2),
    "Success@3": lambda rankings: ties.success(rankings, 3),
}


def rankings(ranked: list[Ranking], unfound: list[list[int]]) -> Rankings:
    """Build rankings whose judged documents are the ranked ones and some that were not found."""
    width = max(1, *map(len, ranked))
    scores = np.full((len(ranked), width), -np.inf, dtype=np.float32)
    grades = np.zeros((len(ranked), width), dtype=np.int64)
    judged = np.zeros((len(ranked), width + max(map(len, unfound))), dtype=np.int64)
    for row, (ranking, others) in enumerate(zip(ranked, unfound, strict=True)):
        ranking = sorted(ranking, key=lambda pair: -pair[0])
        scores[row, : len(ranking)] = [value for value, _ in ranking]
        grades[row, : len(ranking)] = [grade for _, grade in ranking]
        judged[row, : len(ranking) + len(others)] = [*(grade for _, grade in ranking), *others]
    return Rankings(scores, grades, np.isfinite(scores), judged)


def test_ten_documents_with_equal_scores_one_relevant() -> None:
    tied = rankings([[(0.5, int(place == 7)) for place in range(10)]], [[]])
    discounts = [1 / math.log2(rank + 1) for rank in range(1, 11)]
    assert ties.ndcg(tied, 10)[0] == pytest.approx(sum(discounts) / 10)
    assert ties.ndcg(tied, 10)[0] == pytest.approx(0.454, abs=5e-4)
    assert ties.reciprocal_rank(tied, 10)[0] == pytest.approx(sum(1 / r for r in range(1, 11)) / 10)
    assert ties.recall(tied, 5)[0] == pytest.approx(0.5)
    assert ties.success(tied, 5)[0] == pytest.approx(0.5)
    assert ties.precision(tied, 5)[0] == pytest.approx(0.1)


def test_two_of_three_tied_documents_relevant() -> None:
    tied = rankings([[(0.5, 1), (0.5, 0), (0.5, 1)]], [[]])
    assert ties.reciprocal_rank(tied)[0] == pytest.approx((1 + 1 + 1 / 2) / 3)
    orders = [(1 + 2 / 2) / 2, (1 + 2 / 3) / 2, (1 / 2 + 2 / 3) / 2]  # 110, 101, 011
    assert ties.average_precision(tied)[0] == pytest.approx(sum(orders) / 3)


def test_a_grade_below_zero_gains_nothing() -> None:
    found = rankings([[(2.0, -2), (1.0, 1)]], [[]])
    assert ties.ndcg(found)[0] == pytest.approx(1 / math.log2(3))


def test_the_share_of_judged_documents_is_of_those_retrieved_and_averaged_over_ties() -> None:
    scores = np.array([[3, 2, 2, 2], [1, -np.inf, -np.inf, -np.inf], [-np.inf] * 4], np.float32)
    known = np.array([[1, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
    found = Rankings(scores, np.zeros((3, 4), int), known, np.zeros((3, 1), int))
    # rank 1 is judged; of the three tied ones below one is, and one place of the cutoff is left
    assert ties.judged_share(found, 2) == pytest.approx([(1 + 1 / 3) / 2, 1, 0])
    assert ties.judged_share(found, 4) == pytest.approx([2 / 4, 1, 0])


def test_exponential_gains() -> None:
    found = rankings([[(2.0, 1), (1.0, 3)]], [[]])
    assert ties.ndcg(found, exponential=True)[0] == pytest.approx(
        (1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3))
    )


GRADES = st.sampled_from([0, 0, 1, 2, -1])


@st.composite
def queries(
    draw: st.DrawFn, scores: st.SearchStrategy[float], most: int
) -> list[tuple[Ranking, list[int]]]:
    documents = st.lists(st.tuples(scores, GRADES), max_size=most)
    return draw(
        st.lists(st.tuples(documents, st.lists(GRADES, max_size=3)), min_size=1, max_size=4)
    )


@given(queries(st.just(0.0), most=9))
@settings(max_examples=60)
def test_without_ties_the_values_are_those_of_ir_measures(
    drawn: list[tuple[Ranking, list[int]]],
) -> None:
    ranked = [[(-float(place), grade) for place, (_, grade) in enumerate(r)] for r, _ in drawn]
    unfound = [others for _, others in drawn]
    qrels = {
        f"q{row}": {
            **{f"d{place}": grade for place, (_, grade) in enumerate(ranking)},
            **{f"u{place}": grade for place, grade in enumerate(others)},
            "d": 0,  # ir-measures leaves out a query without any judgement
        }
        for row, (ranking, others) in enumerate(zip(ranked, unfound, strict=True))
    }
    run = {
        f"q{row}": {f"d{place}": value for place, (value, _) in enumerate(ranking)}
        for row, ranking in enumerate(ranked)
    }
    for name, measure in MEASURES.items():
        parsed = ir_measures.parse_measure(name)
        expected = dict.fromkeys(qrels, 0.0)
        expected |= {m.query_id: m.value for m in ir_measures.iter_calc([parsed], qrels, run)}
        found = measure(rankings(ranked, unfound))
        assert found == pytest.approx([expected[query] for query in qrels], abs=1e-9), name


def plain(name: str, grades: list[int], judged: list[int]) -> float:
    """Compute a measure of one ranking without ties, straight from its definition."""
    measure = ir_measures.parse_measure(name)
    cutoff = measure.params.get("cutoff", len(grades))
    rel = measure.params.get("rel", 1)
    if measure.NAME == "nDCG":
        dcg, ideal = (
            sum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(line[:cutoff], 1))
            for line in (grades, sorted(judged, reverse=True)[: cutoff if "@" in name else None])
        )
        if "@" not in name:
            ideal = sum(
                max(grade, 0) / math.log2(rank + 1)
                for rank, grade in enumerate(sorted(judged, reverse=True), 1)
            )
        return dcg / ideal if ideal else 0.0
    hits = [rank for rank, grade in enumerate(grades[:cutoff], 1) if grade >= rel]
    relevant = sum(grade >= rel for grade in judged)
    if measure.NAME == "P":
        return len(hits) / cutoff
    if measure.NAME == "RR":
        return 1 / hits[0] if hits else 0.0
    if measure.NAME == "Success":
        return float(bool(hits))
    if relevant == 0:
        return 0.0
    if measure.NAME == "R":
        return len(hits) / relevant
    return sum(found / rank for found, rank in enumerate(hits, 1)) / relevant


@given(queries(st.sampled_from([0.0, 1.0, 2.0]), most=5))
@settings(max_examples=40, deadline=None)
def test_with_ties_the_values_are_means_over_all_orders(
    drawn: list[tuple[Ranking, list[int]]],
) -> None:
    found = rankings([ranking for ranking, _ in drawn], [others for _, others in drawn])
    values = {name: measure(found) for name, measure in MEASURES.items()}
    for row, (ranking, others) in enumerate(drawn):
        orders = [
            [grade for _, grade in order]
            for order in itertools.permutations(ranking)
            if all(one[0] >= next_[0] for one, next_ in itertools.pairwise(order))
        ]
        judged = [*(grade for _, grade in ranking), *others]
        for name in MEASURES:
            mean = sum(plain(name, order, judged) for order in orders) / len(orders)
            assert values[name][row] == pytest.approx(mean, abs=1e-9), name
