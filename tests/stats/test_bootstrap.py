from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from harness.stats import (
    bootstrap,
    f1_of_counts,
    mcc_of_counts,
    multi_bootstrap,
    over_examples,
    over_seeds_and_examples,
    percentile_bounds,
    ratio_of_sums,
    resample_examples,
    student_t,
)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def crossed(n_seeds: int, n_examples: int, seed: int = 0) -> np.ndarray:
    rng = generator(seed)
    skill, ease = rng.normal(0, 0.1, (n_seeds, 1)), rng.normal(0, 1, n_examples)
    return skill + ease + rng.normal(0, 1, (n_seeds, n_examples))


def test_a_replicate_is_the_mean_of_the_examples_that_were_drawn():
    x = crossed(3, 7)
    drawn = generator().integers(7, size=(20, 7))
    by_hand = x[:, drawn].mean(axis=2)
    resampled = resample_examples(x, generator(), replicates=20)
    assert resampled.replicates_RB == pytest.approx(by_hand, abs=1e-6)
    assert resampled.scores_R == pytest.approx(x.mean(axis=1))


def test_a_replicate_of_counts_is_the_statistic_of_the_sums_that_were_drawn():
    counts = generator(1).integers(0, 5, (4, 30, 3))
    drawn = generator().integers(30, size=(50, 30))
    by_hand = np.empty((4, 50))
    for run in range(4):
        for replicate, examples in enumerate(drawn):
            tp, fp, fn = counts[run, examples].sum(axis=0)
            precision, recall = tp / (tp + fp), tp / (tp + fn)
            by_hand[run, replicate] = 2 * precision * recall / (precision + recall)
    resampled = resample_examples(counts, generator(), statistic=f1_of_counts, replicates=50)
    assert resampled.replicates_RB == pytest.approx(by_hand, abs=1e-6)


def test_means_and_ratios_with_equal_denominators_are_resampled_alike():
    x = crossed(3, 40)
    as_counts = np.stack([x, np.ones_like(x)], axis=-1)
    means = resample_examples(x, generator(), replicates=100)
    ratios = resample_examples(as_counts, generator(), statistic=ratio_of_sums, replicates=100)
    assert ratios.replicates_RB == pytest.approx(means.replicates_RB, abs=1e-5)


def test_equal_generators_give_equal_replicates_and_others_do_not():
    x = crossed(2, 50)
    first, again, other = (resample_examples(x, generator(s), replicates=9) for s in (4, 4, 5))
    assert (first.replicates_RB == again.replicates_RB).all()
    assert (first.replicates_RB != other.replicates_RB).any()


def test_runs_beside_do_not_change_what_is_drawn():
    x = crossed(20, 50)
    alone = resample_examples(x[:2], generator(), replicates=30)
    among = resample_examples(x, generator(), replicates=30)
    assert among.rows([0, 1]).replicates_RB == pytest.approx(alone.replicates_RB, abs=1e-6)


@pytest.mark.parametrize("statistic", [None, f1_of_counts])
def test_small_chunks_give_the_same_replicates_as_one(monkeypatch, statistic):
    # 64 draws a chunk: an even number of 32-bit draws, so that none is thrown away between chunks
    x = generator().integers(0, 3, (5, 8) if statistic is None else (5, 8, 3))
    whole = resample_examples(x, generator(), statistic=statistic, replicates=40)
    monkeypatch.setattr(bootstrap, "_CHUNK_BYTES", 8 * 64)
    cut = resample_examples(x, generator(), statistic=statistic, replicates=40)
    assert cut.replicates_RB == pytest.approx(whole.replicates_RB, abs=1e-6)


def test_replicates_spread_as_theory_says():
    # Mean of 400 coin tosses: variance 0.25 / 400.
    resampled = resample_examples(np.tile([0, 1], (1, 200)), generator())
    assert resampled.replicates_RB.var() == pytest.approx(0.25 / 400, rel=0.05)
    assert resampled.replicates_RB.mean() == pytest.approx(0.5, abs=0.001)


def test_the_parts_of_the_variance_agree_with_the_analysis_of_variance():
    x = crossed(6, 300)
    n_seeds, n_examples = x.shape
    left = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    noise = (left**2).sum() / (5 * 299) / x.size
    estimate = over_seeds_and_examples(resample_examples(x, generator()))
    assert estimate.mean == pytest.approx(x.mean())
    assert estimate.seeds.variance == pytest.approx(x.mean(axis=1).var(ddof=1) / n_seeds)
    assert estimate.seeds.overlap == pytest.approx(noise, rel=0.05)
    expected = x.mean(axis=0).var(ddof=1) / n_examples
    assert estimate.examples.variance == pytest.approx(expected, rel=0.05)
    assert (estimate.seeds.freedom, estimate.examples.freedom) == (5, 299)


def test_where_all_examples_are_alike_the_interval_is_that_of_the_seeds():
    scores = np.array([0.90, 0.91, 0.92, 0.93, 0.94])
    estimate = over_seeds_and_examples(resample_examples(np.tile(scores[:, None], 20), generator()))
    assert estimate.interval().half_width == pytest.approx(0.019632, abs=1e-5)
    assert estimate.interval().half_width == pytest.approx(student_t(scores).half_width, rel=1e-3)


def test_where_all_seeds_answer_alike_the_interval_is_that_of_the_examples():
    x = generator().normal(0.3, 1, 200)
    estimate = over_seeds_and_examples(resample_examples(np.tile(x, (4, 1)), generator()))
    assert estimate.interval().half_width == pytest.approx(student_t(x).half_width, rel=0.03)
    assert estimate.p_value() == pytest.approx(ttest_1samp(x, 0).pvalue, rel=0.2)


def test_noise_is_counted_once_though_percentiles_count_it_three_times():
    x = generator().normal(0, 1, (10, 400))
    runs = resample_examples(x, generator())
    both = over_seeds_and_examples(runs).standard_error
    assert both == pytest.approx(1 / 4000**0.5, rel=0.25)
    assert multi_bootstrap(runs, generator()).std() > 1.4 * both


def test_examples_alone_give_an_interval_even_with_one_seed():
    x = generator().normal(0, 1, (1, 500))
    runs = resample_examples(x, generator())
    assert over_examples(runs).interval().half_width == pytest.approx(
        student_t(x[0]).half_width, rel=0.03
    )
    assert over_seeds_and_examples(runs).interval().half_width is None
    with pytest.raises(ValueError, match="one seed"):
        multi_bootstrap(runs, generator())


def test_one_example_has_no_interval():
    runs = resample_examples([[0.4], [0.5]], generator(), replicates=10)
    assert over_examples(runs).interval().half_width is None
    assert over_seeds_and_examples(runs).p_value() is None


def test_the_multi_bootstrap_spreads_seeds_by_their_sample_variance():
    # Without the factor sqrt(K / (K - 1)) the variance would be 4 / 5 of this.
    scores = np.array([0.90, 0.91, 0.92, 0.93, 0.94])
    runs = resample_examples(np.tile(scores[:, None], 20), generator(), replicates=20_000)
    drawn = multi_bootstrap(runs, generator(1))
    assert drawn.var() == pytest.approx(scores.var(ddof=1) / 5, rel=0.05)
    assert drawn.mean() == pytest.approx(0.92, abs=1e-3)


def test_percentiles_are_replicates_and_infinite_ones_are_open_ends():
    bounds = percentile_bounds(50.0, np.arange(1, 101), confidence=0.9)
    assert (bounds.value, bounds.low, bounds.high) == (50.0, 5.0, 95.0)
    open_end = percentile_bounds(1.0, [0.0, 1.0, np.inf, np.inf])
    assert (open_end.low, open_end.high) == (0.0, None)


def test_statistics_of_sums_have_their_textbook_values():
    assert f1_of_counts(np.array([2.0, 1, 3])) == pytest.approx(0.5)
    assert ratio_of_sums(np.array([3.0, 4])) == 0.75
    # Perfect, and (6 x 3 - 1 x 2) / sqrt(7 x 8 x 4 x 5)
    assert mcc_of_counts(np.array([[4.0, 0, 0, 4], [6, 1, 2, 3]])) == pytest.approx(
        [1, 16 / 1120**0.5]
    )


def test_statistics_of_nothing_are_zero():
    assert f1_of_counts(np.zeros(3)) == 0
    assert ratio_of_sums(np.zeros(2)) == 0
    assert mcc_of_counts(np.array([5.0, 0, 0, 0])) == 0


@pytest.mark.parametrize(
    "values", [[0.5, 0.6], [[np.nan, 1]], np.empty((0, 3)), np.ones((2, 3, 3))]
)
def test_what_is_no_table_of_finite_scores_is_refused(values):
    with pytest.raises(ValueError, match=r"runs x examples|finite"):
        resample_examples(values, generator())


def test_few_examples_spread_by_the_sample_variance():
    """Drawn from themselves, 4 examples spread by three quarters of it."""
    x = np.array([[0.0, 1.0, 1.0, 0.0]])
    found = over_examples(resample_examples(x, generator(), replicates=20_000))
    assert found.examples.freedom == 3
    assert found.examples.variance == pytest.approx(x.var(ddof=1) / 4, rel=0.04)
