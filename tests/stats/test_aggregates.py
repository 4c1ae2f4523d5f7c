"""References are the definitions of rliable 1.2: `metrics.py` and the profiles of `library.py`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, rankdata, trim_mean

from harness.stats import (
    aggregate_bounds,
    improvement_bounds,
    interquartile_mean,
    mean_over_tasks,
    mean_rank_bounds,
    mean_ranks,
    median_over_tasks,
    performance_profile,
    probability_of_improvement,
    profile_bounds,
    resample_seeds,
    student_t,
)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def rounded_scores(n_seeds: int, n_tasks: int, seed: int = 0) -> np.ndarray:
    """Make scores with ties."""
    return generator(seed).normal(size=(n_seeds, n_tasks)).round(1)


def improvement_by_rliable(a: np.ndarray, b: np.ndarray) -> float:
    wins = [
        mannwhitneyu(a[:, t], b[:, t], alternative="greater")[0] / (len(a) * len(b))
        for t in range(a.shape[1])
    ]
    return float(np.mean(wins))


def test_the_interquartile_mean_leaves_out_the_best_and_worst_quarter():
    assert interquartile_mean(np.array([[0.0, 1, 2, 3], [4, 5, 6, 100]])) == pytest.approx(3.5)


@pytest.mark.parametrize("shape", [(5, 12), (3, 3), (1, 5), (10, 7)])
def test_aggregates_agree_with_the_definitions_of_rliable(shape):
    x = rounded_scores(*shape)
    assert interquartile_mean(x) == pytest.approx(trim_mean(x, proportiontocut=0.25, axis=None))
    assert mean_over_tasks(x) == pytest.approx(np.mean(np.mean(x, axis=0), axis=0))
    assert median_over_tasks(x) == pytest.approx(np.median(np.mean(x, axis=0), axis=0))
    thresholds = [-1, 0.0, 0.5]
    assert performance_profile(x, thresholds) == pytest.approx(
        [np.mean(x > threshold) for threshold in thresholds]
    )


@pytest.mark.parametrize("aggregate", [interquartile_mean, mean_over_tasks, median_over_tasks])
def test_aggregates_of_many_tables_are_those_of_each(aggregate):
    many = generator().normal(size=(4, 5, 6))
    assert aggregate(many) == pytest.approx([float(aggregate(one)) for one in many])


def test_the_probability_of_improvement_counts_ties_as_halves():
    # Task 1: 3 > 2 and 3 > 1, 2 = 2, 2 > 1: 3.5 of 4. Task 2: all tied: 2 of 4.
    a, b = [[3, 1], [2, 1]], [[2, 1], [1, 1]]
    assert probability_of_improvement(a, b) == pytest.approx((3.5 / 4 + 0.5) / 2)


@pytest.mark.parametrize("seed", range(3))
def test_the_probability_of_improvement_agrees_with_the_definition_of_rliable(seed):
    a, b = rounded_scores(5, 8, seed), rounded_scores(4, 8, seed + 10)
    assert probability_of_improvement(a, b) == pytest.approx(improvement_by_rliable(a, b))
    assert probability_of_improvement(a, b) == pytest.approx(1 - probability_of_improvement(b, a))


def test_seeds_are_drawn_within_their_task():
    scores = np.array([[0.0, 10], [1, 11], [2, 12]])
    drawn = resample_seeds(scores, generator(), replicates=500)
    assert drawn.shape == (500, 3, 2)
    assert set(drawn[..., 0].ravel()) == {0, 1, 2}
    assert set(drawn[..., 1].ravel()) == {10, 11, 12}
    # The tasks are drawn apart: their means are not correlated.
    assert abs(np.corrcoef(drawn.mean(axis=1).T)[0, 1]) < 0.15


def test_equal_generators_give_equal_bounds():
    scores = rounded_scores(5, 4)
    first, again, other = (
        aggregate_bounds(scores, interquartile_mean, generator(s), replicates=200)
        for s in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_the_bootstrap_of_a_plain_mean_is_as_wide_as_student_says():
    scores = generator().normal(0.8, 0.05, (5, 1))
    bounds = aggregate_bounds(scores, mean_over_tasks, generator())
    assert bounds.high - bounds.low == pytest.approx(
        2 * student_t(scores[:, 0]).half_width, rel=0.1
    )


def test_rows_that_are_one_thing_on_all_tasks_are_drawn_whole():
    """Two equal sides of 5 checkpoints whose tasks go together: 12 tasks tell no more than one."""
    makes = np.random.default_rng(3)
    holds = {True: 0, False: 0}
    for seed in range(100):
        a, b = (makes.normal(size=(5, 1)) + 0.1 * makes.normal(size=(5, 12)) for _ in range(2))
        for draws_rows in holds:
            bounds = improvement_bounds(
                a, b, np.random.default_rng(seed), replicates=300, draws_rows=draws_rows
            )
            holds[draws_rows] += bounds.low <= 0.5 <= bounds.high
    assert holds[True] >= 91
    assert holds[False] < 70


def test_improvement_and_profile_stay_within_zero_and_one():
    a, b = np.array([[5.0, 6], [7, 8]]), np.array([[1.0, 2], [3, 4]])
    bounds = improvement_bounds(a, b, generator(), replicates=50)
    assert (bounds.value, bounds.low, bounds.high) == (1, 1, 1)
    profile, low, high = profile_bounds(a, [0, 6.5, 9], generator(), replicates=50)
    assert profile == pytest.approx([1, 0.5, 0])
    assert ((low >= 0) & (low <= profile) & (profile <= high) & (high <= 1)).all()


def ranks_by_drawing(scores: list[np.ndarray]) -> np.ndarray:
    """Rank every way to draw one run of each checkpoint, on every task."""
    n_tasks = scores[0].shape[1]
    ranks = [
        rankdata([-side[run, task] for side, run in zip(scores, runs, strict=True)])
        for task in range(n_tasks)
        for runs in itertools.product(*(range(len(side)) for side in scores))
    ]
    return np.mean(ranks, axis=0)


def test_ranks_of_single_runs_are_shared_by_equal_scores():
    # Task 1: best 0, then 1 and 2 share places 2 and 3. Task 2: 2, 1, 0.
    assert mean_ranks([[[0.9, 0.1]], [[0.8, 0.2]], [[0.8, 0.3]]]) == pytest.approx([2, 2.25, 1.75])


def test_the_rank_of_a_run_counts_the_runs_that_beat_it():
    # a: 3 and 1, b: 2 and 1. Of four draws a is ahead in two, behind in one, and equal in one.
    assert mean_ranks([[[3], [1]], [[2], [1]]]) == pytest.approx([1 + 1.5 / 4, 1 + 2.5 / 4])


def test_mean_ranks_agree_with_ranking_every_draw_also_where_numbers_of_runs_differ():
    scores = [rounded_scores(n_seeds, 4, seed) for seed, n_seeds in enumerate((3, 2, 4))]
    assert mean_ranks(scores) == pytest.approx(ranks_by_drawing(scores))
    alone = rounded_scores(7, 9)
    by_scipy = rankdata(-alone, axis=0).mean(axis=1)
    assert mean_ranks(alone[:, None]) == pytest.approx(by_scipy)


def test_the_rank_of_two_is_the_probability_of_improvement():
    a, b = rounded_scores(5, 8), rounded_scores(4, 8, 1)
    assert mean_ranks([a, b])[0] == pytest.approx(2 - probability_of_improvement(a, b))
    rank, other = mean_rank_bounds([a, b], generator(), replicates=500)
    better = improvement_bounds(a, b, generator(), replicates=500)
    assert (rank.low, rank.high) == pytest.approx((2 - better.high, 2 - better.low), abs=0.03)
    assert (other.low, other.high) == pytest.approx((3 - rank.high, 3 - rank.low))


def test_ranks_of_checkpoints_far_apart_are_certain_and_those_of_equals_are_not():
    scores = generator().normal(size=(3, 5, 4)) + np.array([100, 0, 0])[:, None, None]
    best, *rest = mean_rank_bounds(list(scores), generator(), replicates=200)
    assert (best.value, best.low, best.high) == (1, 1, 1)
    assert all(bounds.low < 2.5 < bounds.high for bounds in rest)


@pytest.mark.parametrize("scores", [[0.1, 0.2], [[0.1, np.nan]], np.empty((0, 2))])
def test_what_is_no_table_of_finite_scores_is_refused(scores):
    with pytest.raises(ValueError, match="finite scores"):
        aggregate_bounds(scores, mean_over_tasks, generator())


def test_one_seed_and_other_tasks_are_refused():
    with pytest.raises(ValueError, match="one seed"):
        aggregate_bounds([[0.1, 0.2]], mean_over_tasks, generator())
    with pytest.raises(ValueError, match="2 tasks against 3"):
        probability_of_improvement(np.ones((2, 2)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="the same tasks"):
        mean_ranks([np.ones((2, 2)), np.ones((2, 3))])
    with pytest.raises(ValueError, match="one seed"):
        mean_rank_bounds([np.ones((1, 2)), np.ones((3, 2))], generator())
