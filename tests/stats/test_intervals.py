from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats import student_t


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
