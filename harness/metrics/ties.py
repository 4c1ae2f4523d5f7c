"""Ranking measures as expectations over all orders of documents with equal scores.

After McSherry and Najork, "Computing information retrieval performance measures efficiently in the
presence of tied scores" (ECIR 2008). Without ties these are the measures of trec_eval: the ideal
comes from all judged documents, a grade counts as relevant from `rel` on, and a query without
relevant documents scores 0.

Shapes: Q queries, D ranks, J judged documents; the names of plain arrays end with theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings of Q queries, filled up to equal lengths.

    `scores` (Q, D) descend and are -inf where a ranking has ended. `grades` (Q, D) are those of the
    ranked documents, 0 where nobody judged them, and `known` (Q, D) says where somebody did.
    `judged` (Q, J) are the grades of all judged documents, 0 where there are no more. The
    properties are (Q, D) as well.
    """

    scores: NDArray[np.float32]
    grades: NDArray[np.int64]
    known: NDArray[np.bool_]
    judged: NDArray[np.int64]

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """Number the groups of equal scores of one query, from 0 on through all queries."""
        begins = np.ones(self.scores.shape, dtype=bool)
        begins[:, 1:] = self.scores[:, 1:] != self.scores[:, :-1]
        return (np.cumsum(begins) - 1).reshape(begins.shape)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """Count the documents in the group of each rank."""
        return np.bincount(self.groups.ravel())[self.groups]

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """Say the place, from 0 on, of each rank in its group."""
        groups = self.groups.ravel()
        first = np.searchsorted(groups, np.arange(groups[-1] + 1))
        return (np.arange(groups.size) - first[groups]).reshape(self.groups.shape)

    def sum_by_group(self, values_QD: NDArray[Any]) -> Floats:
        """Put the sum of a group's values at each of its ranks."""
        sums = np.bincount(self.groups.ravel(), weights=values_QD.ravel())
        return np.asarray(sums, dtype=np.float64)[self.groups]

    def relevant_by_group(self, rel: int) -> Floats:
        """Count at each rank the relevant documents of its group."""
        return self.sum_by_group(self.grades >= rel)

    def count_relevant(self, rel: int) -> NDArray[np.int64]:
        """Count the relevant documents of each query, (Q,)."""
        return np.asarray((self.judged >= rel).sum(axis=1))


def ndcg(rankings: Rankings, cutoff: int | None = None, exponential: bool = False) -> Floats:
    """Normalised discounted cumulative gain, (Q,); the gain is the grade, or 2^grade - 1."""
    gains_QD, ideal_QJ = (
        np.exp2(grades) - 1 if exponential else grades
        for grades in (
            np.maximum(rankings.grades, 0),
            -np.sort(-np.maximum(rankings.judged, 0), axis=1),
        )
    )
    expected_QD = rankings.sum_by_group(gains_QD) / rankings.size
    return _ratio(_discounted(expected_QD, cutoff), _discounted(ideal_QJ, cutoff))


def precision(rankings: Rankings, cutoff: int, rel: int = 1) -> Floats:
    """Relevant documents among the first `cutoff`, of `cutoff`, (Q,)."""
    return _expected_found(rankings, cutoff, rel) / cutoff


def recall(rankings: Rankings, cutoff: int, rel: int = 1) -> Floats:
    """Relevant documents among the first `cutoff`, of all relevant ones, (Q,)."""
    return _ratio(_expected_found(rankings, cutoff, rel), rankings.count_relevant(rel))


def reciprocal_rank(rankings: Rankings, cutoff: int | None = None, rel: int = 1) -> Floats:
    """One over the rank of the first relevant document, (Q,)."""
    first_QD = _first_relevant(rankings, rel)[:, :cutoff]
    return np.asarray((first_QD / _ranks(first_QD)).sum(axis=1))


def success(rankings: Rankings, cutoff: int, rel: int = 1) -> Floats:
    """Probability of a relevant document among the first `cutoff`, (Q,)."""
    return np.asarray(_first_relevant(rankings, rel)[:, :cutoff].sum(axis=1))


def judged_share(rankings: Rankings, cutoff: int) -> Floats:
    """Judged documents among the first `cutoff`, of those that there are, (Q,); 0 without any."""
    share_QD = rankings.sum_by_group(rankings.known) / rankings.size
    found_Q = np.isfinite(rankings.scores[:, :cutoff]).sum(axis=1)
    return _ratio(share_QD[:, :cutoff].sum(axis=1), found_Q)


def average_precision(rankings: Rankings, cutoff: int | None = None, rel: int = 1) -> Floats:
    """Sum of the precision at each relevant document found, of all relevant ones, (Q,)."""
    found_QD = rankings.relevant_by_group(rel)
    share_QD = found_QD / rankings.size
    before_QD = np.cumsum(share_QD, axis=1) - share_QD * (rankings.place + 1)
    # Where this rank is relevant, its group's other relevant documents lie evenly on the other
    # places.
    others_QD = (found_QD - 1) / np.maximum(rankings.size - 1, 1)
    precision_QD = (before_QD + 1 + rankings.place * others_QD) / _ranks(share_QD)
    total = (share_QD * precision_QD)[:, :cutoff].sum(axis=1)
    return _ratio(total, rankings.count_relevant(rel))


def _expected_found(rankings: Rankings, cutoff: int, rel: int) -> Floats:
    share_QD = rankings.relevant_by_group(rel) / rankings.size
    return np.asarray(share_QD[:, :cutoff].sum(axis=1))


def _first_relevant(rankings: Rankings, rel: int) -> Floats:
    """Give the probability that the first relevant document of a query is at this rank, (Q, D)."""
    # With n documents in a group, r of them relevant and none of those at its first j places, the
    # next one is relevant with probability r / (n - j).
    left_QD = rankings.size - rankings.place
    hit_QD = np.minimum(rankings.relevant_by_group(rel) / left_QD, 1.0)
    none_yet_QD = np.cumprod(1 - hit_QD, axis=1)
    before_QD = np.concatenate([np.ones((len(hit_QD), 1)), none_yet_QD[:, :-1]], axis=1)
    return np.asarray(hit_QD * before_QD)


def _discounted(gains_QD: NDArray[Any], cutoff: int | None) -> Floats:
    gains_QD = gains_QD[:, :cutoff]
    return np.asarray((gains_QD / np.log2(1 + _ranks(gains_QD))).sum(axis=1))


def _ranks(values_QD: NDArray[Any]) -> NDArray[np.int64]:
    return np.arange(1, values_QD.shape[1] + 1)


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0))
