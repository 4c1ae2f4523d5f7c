from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_ind

from harness.stats import Estimate, Part, average, over_seeds, student_t, subtract


def test_five_scores_give_the_interval_of_the_protocol():
    interval = student_t([0.90, 0.91, 0.92, 0.93, 0.94])
    assert interval.mean == pytest.approx(0.92, abs=1e-12)
    assert interval.half_width == pytest.approx(0.019632, abs=1e-6)
    assert interval.low == pytest.approx(0.900368, abs=1e-6)
    assert interval.high == pytest.approx(0.939632, abs=1e-6)


def test_two_scores_have_a_wide_interval():
    # t(1, 0.975) = 12.7062 and s / sqrt(2) = 0.05 for 0.8 and 0.9
    assert student_t([0.8, 0.9]).half_width == pytest.approx(12.7062 * 0.05, abs=1e-5)


def test_less_confidence_gives_a_narrower_interval():
    # t(4, 0.95) = 2.131847, standard error 0.0070711
    scores = [0.90, 0.91, 0.92, 0.93, 0.94]
    assert student_t(scores, confidence=0.9).half_width == pytest.approx(0.015074, abs=1e-6)


def test_one_score_has_no_interval_rather_than_one_of_no_width():
    interval = student_t([0.7])
    assert interval.mean == 0.7
    assert interval.half_width is None
    assert interval.low is None
    assert interval.high is None


def test_equal_scores_have_an_interval_of_no_width():
    assert student_t([0.1, 0.1, 0.1]).half_width == 0


@pytest.mark.parametrize("scores", [[], [0.5, np.nan], [0.5, np.inf], [[0.5, 0.6]]])
def test_what_is_no_row_of_finite_scores_is_refused(scores):
    with pytest.raises(ValueError, match="at least one score"):
        student_t(scores)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_a_confidence_that_is_no_share_is_refused(confidence):
    with pytest.raises(ValueError, match="between 0 and 1"):
        student_t([0.1, 0.2], confidence=confidence)


@given(st.permutations([0.31, 0.47, 0.52, 0.66, 0.9]))
def test_the_order_of_seeds_changes_nothing(scores):
    first, second = student_t([0.31, 0.47, 0.52, 0.66, 0.9]), student_t(scores)
    assert first.mean == second.mean
    assert first.half_width == pytest.approx(second.half_width, rel=1e-12)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    scores = np.random.default_rng(0).normal(0.8, 0.05, size=(2000, 5))
    covered = [i.low <= 0.8 <= i.high for i in map(student_t, scores)]
    assert 0.93 < np.mean(covered) < 0.97


def test_seeds_alone_give_the_p_value_of_the_t_test():
    scores = [0.3, -0.1, 0.4, 0.25, 0.2]
    assert over_seeds(scores).p_value() == pytest.approx(ttest_1samp(scores, 0).pvalue, rel=1e-8)


def test_a_difference_of_two_cells_is_that_of_welch():
    a, b = [0.90, 0.91, 0.95], [0.89, 0.90, 0.905, 0.91]
    difference, welch = subtract(over_seeds(a), over_seeds(b)), ttest_ind(a, b, equal_var=False)
    assert difference.p_value() == pytest.approx(welch.pvalue, rel=1e-8)
    assert difference.interval().low == pytest.approx(welch.confidence_interval().low)


def test_the_interval_whose_confidence_is_one_minus_p_ends_at_zero():
    estimate = Estimate(0.03, Part(1e-4, 4, overlap=2e-5), Part(5e-5, 199))
    interval = estimate.interval(1 - estimate.p_value())
    assert interval.low == pytest.approx(0, abs=1e-9)


def test_two_parts_join_in_quadrature_each_with_its_own_quantile():
    # t(4) = 2.776445, t(199) = 1.971957: sqrt(2.776445^2 * 0.0003 + 1.971957^2 * 0.0002)
    estimate = Estimate(0.5, Part(4e-4, 4, overlap=1e-4), Part(2e-4, 199))
    assert estimate.interval().half_width == pytest.approx(0.0555906, abs=1e-6)
    assert estimate.standard_error == pytest.approx(5e-4**0.5)


def test_a_part_that_is_all_overlap_adds_nothing():
    estimate = Estimate(0.5, Part(1e-4, 4, overlap=2e-4), Part(2e-4, 199))
    assert estimate.interval().half_width == pytest.approx(1.971957 * 2e-4**0.5, rel=1e-6)


def test_the_mean_over_tasks_pools_freedom_as_satterthwaite_says():
    # Equal variances 0.0001 of K = 3: the mean of two has variance 0.00005 and freedom 4.
    scores = np.array([0.9, 0.9 + 0.03**0.5 / 10, 0.9 - 0.03**0.5 / 10])
    one = over_seeds(scores)
    assert one.seeds.variance == pytest.approx(1e-4)
    mean = average([one, one])
    assert mean.seeds.freedom == pytest.approx(4)
    assert mean.interval().half_width == pytest.approx(2.776445 * 5e-5**0.5, rel=1e-6)


def test_a_mean_over_tasks_has_no_interval_where_one_task_has_one_seed():
    mean = average([over_seeds([0.5, 0.6]), over_seeds([0.8])])
    assert mean.mean == pytest.approx(0.675)
    assert (mean.interval().half_width, mean.p_value(), mean.standard_error) == (None, None, None)


def test_seeds_and_examples_are_not_added_to_seeds_alone():
    with pytest.raises(ValueError, match="can't be added"):
        average([over_seeds([0.5, 0.6]), Estimate(0.5, None, Part(1e-4, 99))])
    with pytest.raises(ValueError, match="at least one"):
        average([])


def test_no_difference_has_p_one_and_one_without_spread_has_p_zero():
    assert over_seeds([0.1, -0.1]).p_value() == 1


def test_seeds_that_do_not_vary_have_no_p():
    """The t statistic of equal scores is x / 0, whatever their mean."""
    for score in (0.2, 0.0):
        assert over_seeds([score, score]).p_value() is None
    difference = subtract(over_seeds([0.9, 0.9]), over_seeds([0.8, 0.8]))
    assert difference.p_value() is None
    assert difference.interval().half_width == 0
