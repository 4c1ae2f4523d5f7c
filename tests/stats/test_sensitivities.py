from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from harness.stats import (
    Sensitivity,
    compare_regret,
    compare_sensitivity,
    compare_shares,
    expected_best,
    regret_of_common_rate,
    sensitivity,
    sensitivity_bounds,
    share,
)

NAN = np.nan
RATES = [1e-5, 1e-4, 1e-3]


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_three_rates_have_a_range_a_deviation_and_an_area():
    # The area per decade: (0.8 + 0.9) / 2 and (0.9 + 0.7) / 2, over two decades.
    found = sensitivity([0.8, 0.9, 0.7], RATES)
    assert found == Sensitivity(pytest.approx(0.2), pytest.approx(0.1), pytest.approx(0.825))


def test_the_order_of_rates_changes_nothing():
    assert sensitivity([0.9, 0.7, 0.8], [1e-4, 1e-3, 1e-5]).area == pytest.approx(0.825)


def test_the_area_weighs_by_distance_in_log_rate():
    # From 1e-5 to 1e-4 one decade at 0.5, from 1e-4 to 1e-2 two decades at 0.25.
    assert sensitivity([0.5, 0.5, 0.0], [1e-5, 1e-4, 1e-2]).area == pytest.approx(1 / 3)


def test_a_rate_without_a_score_is_left_out_rather_than_zero():
    assert sensitivity([0.8, NAN, 0.7], RATES).range == pytest.approx(0.1)


def test_one_rate_has_no_sensitivity():
    assert sensitivity([0.8, NAN, NAN], RATES) == Sensitivity(None, None, None)
    assert sensitivity_bounds([[0.8, 0.7], [NAN, NAN]], RATES[:2], generator()) == {}


def test_bounds_hold_the_value_and_never_fall_below_zero_for_a_range():
    scores = generator().normal(0.8, 0.05, (3, 5))
    bounds = sensitivity_bounds(scores, RATES, generator(), replicates=200)
    found = sensitivity(scores.mean(axis=1), RATES)
    assert list(bounds) == ["range", "deviation", "area"]
    for name, bound in bounds.items():
        assert bound.value == pytest.approx(getattr(found, name))
        assert bound.low <= bound.value <= bound.high
    assert bounds["range"].low == 0


def test_equal_generators_give_equal_bounds():
    scores = generator().normal(0.8, 0.05, (3, 5))
    first, again, other = (
        sensitivity_bounds(scores, RATES, generator(s), replicates=100) for s in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_bounds_are_open_where_a_rate_has_one_seed():
    bounds = sensitivity_bounds([[0.8, NAN], [0.9, 0.8], [0.7, 0.7]], RATES, generator())
    assert (bounds["range"].low, bounds["range"].high) == (None, None)


def test_a_steep_checkpoint_is_told_from_a_flat_one_and_not_from_itself():
    flat = generator().normal(0.8, 0.01, (3, 5))
    steep = flat + np.array([[0], [0.3], [0]])
    gaps = compare_sensitivity(steep, flat, RATES, generator(), replicates=200)
    assert list(gaps) == ["range", "deviation", "area"]
    assert gaps["range"].value == pytest.approx(
        np.ptp(steep.mean(axis=1)) - np.ptp(flat.mean(axis=1))
    )
    assert gaps["range"].low > 0
    same = compare_sensitivity(flat, flat, RATES, generator(), replicates=200)["range"]
    assert same.low < 0 < same.high


def test_the_common_rate_is_best_on_average_and_costs_each_task_its_gap():
    # Means 0.7, 0.75, 0.6; own bests 0.9 and 0.8.
    regret = regret_of_common_rate([[0.9, 0.7, 0.6], [0.5, 0.8, 0.6]], RATES)
    assert regret.rate == 1e-4
    assert regret.regret_T == pytest.approx([0.2, 0.0])
    assert regret.mean == pytest.approx(0.1)


def test_only_a_rate_with_all_tasks_can_be_common():
    assert regret_of_common_rate([[0.9, NAN, 0.6], [0.5, 0.8, 0.6]], RATES).rate == 1e-5
    assert regret_of_common_rate([[0.9, NAN], [NAN, 0.8]], RATES[:2]) is None


def test_a_tie_of_common_rates_goes_to_the_smaller():
    assert regret_of_common_rate([[0.1, 0.3], [0.3, 0.1]], [1e-3, 1e-4]).rate == 1e-4


def test_of_runs_with_equal_validation_scores_the_earlier_one_is_the_best():
    validation, reported = np.array([0.5, 0.7, 0.7, 0.2, 0.7]), np.array([0.1, 0.9, 0.3, 0.4, 0.2])
    for m in (1, 2, 3, 5):
        picks = [list(pick) for pick in itertools.combinations(range(5), m)]
        every = np.mean([reported[pick][np.argmax(validation[pick])] for pick in picks])
        assert expected_best(validation, [m], reported)[0] == pytest.approx(every)


def test_mean_regrets_are_compared_and_certain_where_seeds_agree():
    # a: the common rate 1e-4 costs 0.2 and 0 (mean 0.1); b has one best rate.
    a = np.repeat([[[0.9], [0.7], [0.6]], [[0.5], [0.8], [0.6]]], 3, axis=2)
    b = np.repeat([[[0.6], [0.7], [0.6]], [[0.5], [0.8], [0.6]]], 3, axis=2)
    found = compare_regret(a, b, RATES, generator(), replicates=50)
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_a_regret_is_told_from_none_where_it_is_larger_than_the_noise():
    noise = generator().normal(0, 0.01, (2, 2, 3, 5))
    bests = np.array([[0.9, 0.5, 0.1], [0.1, 0.5, 0.9]])[..., None]
    same = np.array([[0.1, 0.9, 0.1], [0.1, 0.9, 0.1]])[..., None]
    found = compare_regret(bests + noise[0], same + noise[1], RATES, generator(), replicates=200)
    assert 0 < found.low < found.value < found.high
    assert found.value == pytest.approx(0.4, abs=0.02)


def test_regret_is_absent_without_a_common_rate_and_open_with_one_seed():
    a = [[[0.9, 0.8], [NAN, NAN]], [[NAN, NAN], [0.5, 0.6]]]
    b = [[[0.9, 0.8], [0.5, 0.6]], [[0.9, 0.8], [0.5, 0.6]]]
    assert compare_regret(a, b, RATES[:2], generator()) is None
    single = [[[0.9, NAN], [0.5, 0.6]], [[0.4, 0.5], [0.5, 0.6]]]
    found = compare_regret(single, b, RATES[:2], generator())
    # Means 0.9 and 0.55, 0.45 and 0.55: the first rate is common, and costs 0 and 0.1.
    assert found.value == pytest.approx(0.05)
    assert (found.low, found.high) == (None, None)


def test_shares_are_compared_as_newcombe_does():
    # Newcombe (1998), table II: 56 of 70 against 48 of 80, 0.0524 to 0.3339; 9 of 10 against 3.
    found = compare_shares(56, 70, 48, 80)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    found = compare_shares(9, 10, 3, 10)
    assert (found.low, found.high) == pytest.approx((0.1705, 0.8090), abs=5e-5)


@pytest.mark.parametrize("counts", [(0, 18, 0, 18), (0, 18, 5, 12), (18, 18, 3, 20)])
def test_bounds_of_shares_agree_with_statsmodels(counts):
    found = compare_shares(*counts, confidence=0.9)
    low, high = confint_proportions_2indep(*counts, method="newcomb", compare="diff", alpha=0.1)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_the_expected_best_of_three_runs():
    # Best of two out of 0.1, 0.2, 0.3: 0.2, 0.3 and 0.3.
    assert expected_best([0.3, 0.1, 0.2], [1, 2, 3]) == pytest.approx([0.2, 0.8 / 3, 0.3])


def test_the_best_on_validation_is_what_is_reported():
    # Of two runs, by validation: (0, 1) -> 1, (0, 2) -> 2, (1, 2) -> 2, reporting 0.6, 0.4, 0.4.
    found = expected_best([0.1, 0.2, 0.3], [1, 2], reported_n=[0.5, 0.6, 0.4])
    assert found == pytest.approx([0.5, (0.6 + 0.4 + 0.4) / 3])


def test_a_budget_beyond_the_runs_there_are_has_no_value():
    assert np.isnan(expected_best([0.1, 0.2], [3])).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_the_expected_best_is_the_mean_over_all_ways_to_pick_runs(scores):
    budgets = range(1, len(scores) + 1)
    every = [np.mean([max(p) for p in itertools.combinations(scores, m)]) for m in budgets]
    assert expected_best(scores, budgets) == pytest.approx(every)


def test_many_runs_do_not_overflow():
    scores = np.linspace(0, 1, 3_000)
    assert expected_best(scores, [1, 1_500])[0] == pytest.approx(0.5)


def test_a_share_is_of_the_runs_that_were_planned():
    assert share([True, False], 4) == 0.25
    assert share([], 0) is None


def test_budgets_and_scores_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="at least one run"):
        expected_best([0.1], [0])
    with pytest.raises(ValueError, match="finite"):
        expected_best([0.1, NAN], [1])
    with pytest.raises(ValueError, match="positive rates"):
        sensitivity([0.1, 0.2], [0, 1e-4])


def test_bounds_of_a_range_are_as_wide_as_student_says():
    """Two rates of two seeds 0.01 off: errors lie up to 2 sqrt(2) 0.01 apart, 2 degrees."""
    scores = np.array([[0.5], [0.9]]) + np.array([-0.01, 0.01])
    found = sensitivity_bounds(scores, [1e-5, 1e-4], np.random.default_rng(0))["range"]
    reach = 4.302653 / 1.959964 * 2 * np.sqrt(2) * 0.01
    assert (found.low, found.high) == (pytest.approx(0.4 - reach), pytest.approx(0.4 + reach))
