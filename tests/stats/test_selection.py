from __future__ import annotations

import numpy as np
import pytest

from harness.stats import (
    Choice,
    choose,
    choose_and_report,
    choose_per_seed,
    nested,
    over_seeds_and_examples,
    report_per_seed,
    resample_examples,
)

NAN = np.nan
RATES = [1e-5, 1e-4, 1e-3]


def test_the_largest_mean_validation_score_wins():
    assert choose([[0.7, 0.8], [0.9, 0.9], [0.99, 0.1]], RATES) == Choice(1, at_edge=False)


def test_a_tie_goes_to_the_smaller_rate_wherever_it_stands():
    assert choose([[0.8, 0.9], [0.9, 0.8]], [1e-3, 1e-4]) == Choice(1, at_edge=True)


def test_means_of_equal_counts_tie_although_they_differ_in_the_last_digit():
    smaller, larger = [0.1, 0.2, 0.3], [0.3, 0.3, 0.0]
    assert sum(smaller) != sum(larger)
    assert choose([smaller, larger], [1e-5, 1e-4]).point == 0
    assert choose([larger, smaller], [1e-5, 1e-4]).point == 0


def test_equal_rates_of_other_points_tie_to_the_first():
    assert choose([[0.5], [0.5]], [1e-4, 1e-4]) == Choice(0, at_edge=False)


def test_a_rate_with_a_missing_run_can_not_win():
    assert choose([[0.7, 0.7], [0.9, NAN], [0.1, 0.1]], RATES) == Choice(0, at_edge=True)


def test_a_rate_with_a_missing_run_can_win_when_asked():
    scores = [[0.7, 0.7], [0.9, NAN], [0.1, 0.1]]
    assert choose(scores, RATES, allow_incomplete=True) == Choice(1, at_edge=False)


@pytest.mark.parametrize("allow_incomplete", [False, True])
def test_nothing_is_chosen_where_nothing_has_a_score(allow_incomplete):
    scores = [[NAN, NAN], [NAN, NAN]]
    assert choose(scores, [1e-5, 1e-4], allow_incomplete=allow_incomplete) is None


def test_a_score_of_zero_is_a_score():
    assert choose([[0.0, 0.0], [-0.1, -0.1]], [1e-5, 1e-4]).point == 0


def test_both_ends_of_the_grid_are_edges_and_the_middle_is_not():
    flags = [choose(np.eye(3)[[order]].T, RATES).at_edge for order in range(3)]
    assert flags == [True, False, True]


def test_a_single_rate_is_at_no_edge():
    assert choose([[0.5, 0.6]], [1e-4]) == Choice(0, at_edge=False)


def test_the_choice_is_made_on_validation_and_reported_on_test():
    cell = choose_and_report([[0.9, 0.9], [0.8, 0.8]], [[0.5, 0.6], [0.95, 0.95]], [1e-5, 1e-4])
    assert cell.choice == Choice(0, at_edge=True)
    assert cell.interval.mean == pytest.approx(0.55)
    assert (cell.n_ok, cell.n_planned) == (2, 2)


def test_a_cell_without_a_complete_rate_has_the_count_of_the_most_complete_one():
    scores = [[0.9, NAN, NAN], [0.8, 0.8, NAN]]
    cell = choose_and_report(scores, scores, [1e-5, 1e-4])
    assert (cell.choice, cell.interval, cell.n_ok, cell.n_planned) == (None, None, 2, 3)


def test_an_incomplete_rate_that_was_asked_for_shows_its_count():
    scores = [[0.9, NAN, NAN], [0.8, 0.8, NAN]]
    cell = choose_and_report(scores, scores, [1e-5, 1e-4], allow_incomplete=True)
    assert (cell.choice.point, cell.n_ok, cell.n_planned) == (0, 1, 3)
    assert cell.interval.half_width is None


def test_a_chosen_point_whose_test_score_is_absent_has_no_mean():
    cell = choose_and_report([[0.9, 0.9], [0.8, 0.8]], [[0.5, NAN], [0.7, 0.7]], [1e-5, 1e-4])
    assert (cell.choice.point, cell.interval, cell.n_ok) == (0, None, 1)


def test_a_fixed_rate_is_reported_although_another_is_better():
    scores = [[0.7, 0.7], [0.9, 0.9], [0.8, 0.8]]
    cell = choose_and_report(scores, scores, RATES, fixed_rate=1e-3)
    assert (cell.choice, cell.interval.mean) == (Choice(2, at_edge=False), 0.8)


def test_a_fixed_rate_chooses_among_the_points_that_have_it():
    scores = [[0.7, 0.7], [0.9, 0.9], [0.95, 0.95]]
    cell = choose_and_report(scores, scores, [1e-5, 1e-5, 1e-4], fixed_rate=1e-5)
    assert cell.choice.point == 1


def test_a_fixed_rate_that_was_not_planned_leaves_an_empty_cell():
    cell = choose_and_report([[0.7, 0.7]], [[0.7, 0.7]], [1e-5], fixed_rate=1e-4)
    assert (cell.choice, cell.interval, cell.n_ok, cell.n_planned) == (None, None, 0, 0)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="shapes do not fit"):
        choose([[0.1, 0.2]], [1e-5, 1e-4])


def test_every_seed_may_choose_its_own_rate():
    validation = [[0.9, 0.7, NAN], [0.8, 0.8, NAN]]
    found = choose_per_seed(validation, [1e-5, 1e-4], allow_incomplete=True)
    assert found.tolist() == [0, 1, -1]


def test_every_seed_chooses_among_the_rates_whose_runs_are_all_good():
    """The second rate would win for two seeds; the third seed lacks it."""
    validation, reported = [[0.7, 0.7, 0.7], [0.9, 0.9, NAN]], [[0.1, 0.2, 0.3], [0.8, 0.8, 0.8]]
    assert choose_per_seed(validation, [1e-5, 1e-4]).tolist() == [0, 0, 0]
    cell = report_per_seed(validation, reported, [1e-5, 1e-4])
    assert (cell.interval.mean, cell.n_ok, cell.n_planned) == (pytest.approx(0.2), 3, 3)
    asked = report_per_seed(validation, reported, [1e-5, 1e-4], allow_incomplete=True)
    assert asked.interval.mean == pytest.approx((0.8 + 0.8 + 0.3) / 3)


def test_a_seed_that_is_planned_at_fewer_rates_takes_no_part_in_a_choice_per_seed():
    validation, planned = [[0.7, 0.7, 0.7], [0.9, 0.6, NAN]], [[1, 1, 1], [1, 1, 0]]
    found = choose_per_seed(validation, [1e-5, 1e-4], planned_PS=planned)
    assert found.tolist() == [1, 0, -1]
    cell = report_per_seed(validation, validation, [1e-5, 1e-4], planned_PS=planned)
    assert (cell.interval.mean, cell.n_ok, cell.n_planned) == (pytest.approx(0.8), 2, 2)


def test_a_cell_per_seed_reports_what_each_seed_chose():
    cell = report_per_seed([[0.9, 0.7], [0.8, 0.8]], [[0.5, 0.0], [0.0, 0.7]], [1e-5, 1e-4])
    assert cell.choice is None
    assert cell.interval.mean == pytest.approx(0.6)
    assert (cell.n_ok, cell.n_planned) == (2, 2)


def test_a_seed_without_a_score_leaves_the_cell_per_seed_without_a_mean_unless_asked():
    validation, reported = [[0.9, NAN], [0.8, NAN]], [[0.5, 0.4], [0.6, 0.4]]
    cell = report_per_seed(validation, reported, [1e-5, 1e-4])
    assert (cell.interval, cell.n_ok, cell.n_planned) == (None, 1, 2)
    asked = report_per_seed(validation, reported, [1e-5, 1e-4], allow_incomplete=True)
    assert asked.interval.mean == 0.5


def resampled_points(means, seed, spread=1.0):
    rng = np.random.default_rng(seed)
    answers = np.repeat(means, 4)[:, None] + rng.normal(0, spread, (4 * len(means), 100))
    return resample_examples(answers, rng, replicates=500)


def test_a_clear_winner_costs_nothing_to_choose():
    validation, reported = resampled_points([0, 5, 1], 0), resampled_points([0, 5, 1], 1)
    interval = nested(validation, reported, RATES, np.random.default_rng(0))
    assert interval == over_seeds_and_examples(reported.rows([4, 5, 6, 7])).interval()


def test_a_close_race_on_validation_between_unequal_scores_widens_the_interval():
    validation, reported = resampled_points([1, 1, 0], 0), resampled_points([2, 1, 0], 1)
    interval = nested(validation, reported, RATES, np.random.default_rng(0))
    point = choose(validation.scores_R.reshape(3, 4), RATES).point
    plain = over_seeds_and_examples(reported.rows(np.arange(4) + 4 * point)).interval()
    assert interval.mean == plain.mean
    assert interval.half_width > 2 * plain.half_width


def test_equal_validation_scores_go_to_the_smaller_rate_in_every_replicate():
    same = resample_examples(np.ones((4, 10)), np.random.default_rng(0), replicates=50)
    scores = np.repeat([[0.0], [0.1], [0.8], [0.9]], 10, axis=1)
    reported = resample_examples(scores, np.random.default_rng(1), replicates=50)
    interval = nested(same, reported, [1e-3, 1e-4], np.random.default_rng(2))
    assert interval.mean == pytest.approx(0.85)
    assert interval == over_seeds_and_examples(reported.rows([2, 3])).interval()


def test_rows_that_do_not_fit_the_rates_are_refused():
    runs = resampled_points([0, 1], 0)
    with pytest.raises(ValueError, match="do not fit 3 points"):
        nested(runs, runs, RATES, np.random.default_rng(0))


def test_a_seed_that_is_planned_at_one_rate_alone_is_not_missing_at_others():
    validation = [[0.8, 0.8, NAN], [0.7, 0.7, 0.7], [0.9, NAN, NAN]]
    planned = [[True, True, False], [True, True, True], [True, True, False]]
    assert choose(validation, RATES) == Choice(1, at_edge=False)
    assert choose(validation, RATES, planned_PS=planned) == Choice(0, at_edge=True)
    cell = choose_and_report(validation, validation, RATES, planned_PS=planned)
    assert (cell.interval.mean, cell.n_ok, cell.n_planned) == (pytest.approx(0.8), 2, 2)
    cell = choose_and_report(validation[2:], validation[2:], RATES[2:], planned_PS=planned[2:])
    assert (cell.interval, cell.n_ok, cell.n_planned) == (None, 1, 2)
