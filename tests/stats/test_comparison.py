from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import permutation_test, ttest_ind, ttest_rel
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from harness.stats import McNemar, compare_runs, groups, mcnemar, resample_examples, sign_flip


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_difference_is_that_of_the_means_and_changes_its_sign_with_the_order():
    x = generator().normal([[0.3], [0.5], [0.1], [0.2], [0.0]], 1, (5, 80))
    runs = resample_examples(x, generator(), replicates=500)
    a, b = runs.rows([0, 1]), runs.rows([2, 3, 4])
    forth, back = compare_runs(a, b), compare_runs(b, a)
    assert forth.mean == pytest.approx(x[:2].mean() - x[2:].mean())
    assert back.mean == -forth.mean
    assert back.p_value() == pytest.approx(forth.p_value())
    assert back.interval().low == pytest.approx(-forth.interval().high)


def test_where_examples_are_alike_the_comparison_is_a_t_test_of_the_seeds():
    scores_a, scores_b = [0.90, 0.91, 0.95], [0.89, 0.90, 0.905]
    x = np.tile(np.array(scores_a + scores_b)[:, None], 10)
    runs = resample_examples(x, generator(), replicates=100)
    a, b = runs.rows([0, 1, 2]), runs.rows([3, 4, 5])
    apart, paired = compare_runs(a, b), compare_runs(a, b, pairs_seeds=True)
    welch = ttest_ind(scores_a, scores_b, equal_var=False)
    assert apart.p_value() == pytest.approx(welch.pvalue, rel=1e-4)
    assert paired.p_value() == pytest.approx(ttest_rel(scores_a, scores_b).pvalue, rel=1e-4)


def test_where_seeds_are_alike_the_comparison_is_a_paired_t_test_of_the_examples():
    ease = generator().normal(0, 3, 300)
    one, other = ease + generator(1).normal(0.1, 1, 300), ease + generator(2).normal(0, 1, 300)
    runs = resample_examples(np.stack([one, one, other, other]), generator())
    compared = compare_runs(runs.rows([0, 1]), runs.rows([2, 3]))
    reference = ttest_rel(one, other)
    assert compared.mean / compared.standard_error == pytest.approx(reference.statistic, rel=0.03)
    assert compared.p_value() == pytest.approx(reference.pvalue, rel=0.2)


def test_difficulty_that_both_sides_share_does_not_widen_the_difference():
    ease = generator().normal(0, 5, 200)
    x = ease + generator(1).normal(0, 0.5, (6, 200))
    paired = resample_examples(x, generator())
    shuffled = resample_examples(np.concatenate([x[:3], x[3:, ::-1]]), generator())
    narrow, wide = (
        compare_runs(runs.rows([0, 1, 2]), runs.rows([3, 4, 5])).interval().half_width
        for runs in (paired, shuffled)
    )
    assert narrow < wide / 5


def test_one_run_a_side_gives_a_difference_without_an_interval():
    runs = resample_examples(generator().normal(size=(3, 20)), generator(), replicates=50)
    compared = compare_runs(runs.rows([0]), runs.rows([1, 2]))
    assert compared.p_value() is None
    assert compared.interval().half_width is None


def test_runs_that_were_not_drawn_together_are_refused():
    x = generator().normal(size=(2, 20))
    a, b = (resample_examples(x, generator(), replicates=5) for _ in range(2))
    with pytest.raises(ValueError, match="resampled together"):
        compare_runs(a, b)


def test_different_numbers_of_seeds_can_not_be_paired():
    runs = resample_examples(generator().normal(size=(5, 20)), generator(), replicates=5)
    with pytest.raises(ValueError, match="2 seeds can't be paired with 3"):
        compare_runs(runs.rows([0, 1]), runs.rows([2, 3, 4]), pairs_seeds=True)


def test_mcnemar_counts_those_that_only_one_got_right():
    # 1 against 6 of 7 coin tosses: 2 x (1 + 7) / 2^7
    a = [True, True] + [False] * 6 + [False]
    b = [True, False] + [True] * 6 + [False]
    assert mcnemar(a, b) == McNemar(1, 6, pytest.approx(0.125))


def test_runs_that_agree_on_every_example_have_p_one():
    assert mcnemar([True, False], [True, False]) == McNemar(0, 0, 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_mcnemar_agrees_with_statsmodels(seed):
    a, b = generator(seed).random((2, 60)) < [[0.8], [0.7]]
    table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
    assert mcnemar(a, b).p_value == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue)


def test_mcnemar_refuses_sides_of_different_examples():
    with pytest.raises(ValueError, match="same examples"):
        mcnemar([True], [True, False])


def test_three_equal_differences_have_two_of_eight_signs_as_extreme():
    assert sign_flip([1.0, 1.0, 1.0], generator()) == 0.25


def test_all_signs_of_few_examples_agree_with_scipy():
    x = generator(3).normal(0.5, 1, 10)
    reference = permutation_test(
        (x,), np.mean, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert sign_flip(x, generator()) == pytest.approx(reference)


def test_many_examples_agree_with_the_normal_law():
    x = generator(1).normal(0.1, 1, 500)
    reference = ttest_rel(x, np.zeros(500)).pvalue
    assert sign_flip(x, generator()) == pytest.approx(reference, abs=0.01)
    assert sign_flip(x, generator()) == sign_flip(x, generator())


def test_the_smallest_p_of_random_signs_is_one_of_all_tried():
    assert sign_flip(np.ones(200), generator(), replicates=999) == 0.001


def test_differences_of_zero_have_p_one():
    assert sign_flip(np.zeros(5), generator()) == 1
    assert sign_flip(np.zeros(50), generator(), replicates=99) == 1


def test_checkpoints_fall_into_the_groups_in_which_no_pair_differs():
    # Best to worst 2, 0, 1, 3; only neighbours can't be told apart.
    means = [0.8, 0.7, 0.9, 0.6]
    differs = np.ones((4, 4), dtype=bool)
    for i, j in ((2, 0), (0, 1), (1, 3)):
        differs[i, j] = differs[j, i] = False
    assert groups(means, differs) == [(2, 0), (0, 1), (1, 3)]


def test_all_alike_are_one_group_and_all_different_are_one_each():
    means = [0.1, 0.3, 0.2]
    assert groups(means, np.zeros((3, 3), bool)) == [(1, 2, 0)]
    assert groups(means, ~np.eye(3, dtype=bool)) == [(1,), (2,), (0,)]


def test_every_pair_of_a_random_matrix_shares_a_group_exactly_if_it_does_not_differ():
    rng = generator(7)
    differs = np.triu(rng.random((9, 9)) < 0.4, 1)
    differs |= differs.T
    found = groups(rng.random(9), differs)
    together = {(i, j) for g in found for i in g for j in g if i != j}
    assert together == {(i, j) for i, j in np.argwhere(~differs) if i != j}
    assert not any(set(g) < set(h) for g in found for h in found)


def test_a_matrix_that_is_not_symmetric_is_refused():
    with pytest.raises(ValueError, match="symmetric"):
        groups([0.1, 0.2], [[False, True], [False, False]])
