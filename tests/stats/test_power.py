from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.power import TTestIndPower

from harness.stats import (
    Components,
    components,
    half_width,
    over_seeds_and_examples,
    resample_examples,
    seeds_needed,
    smallest_difference,
)

SEEDS_ONLY = Components(None, 0.0004, None, None)
FULL = Components(0.1, 0.0004, 0.05, 0.05)


def test_seeds_alone_give_the_half_width_of_student():
    # t(4) = 2.776445 times 0.02 / sqrt(5)
    assert half_width(SEEDS_ONLY, 5, 1) == pytest.approx(2.776445 * 0.02 / 5**0.5, rel=1e-6)


def test_seeds_and_examples_join_as_in_the_interval():
    # t(999) = 1.962341; examples 0.05 / 1000 + 0.05 / 5000 = 0.00006
    expected = (2.776445**2 * 0.0004 / 5 + 1.962341**2 * 0.00006) ** 0.5
    assert half_width(FULL, 5, 1_000) == pytest.approx(expected, rel=1e-5)


def test_the_plan_foresees_the_interval_that_a_study_gets():
    rng = np.random.default_rng(0)
    x = rng.normal(0, 0.1, (8, 1)) + rng.normal(0, 1, 500) + rng.normal(0, 1, (8, 500))
    found = over_seeds_and_examples(resample_examples(x, rng)).interval().half_width
    assert half_width(components(x[None]), 8, 500) == pytest.approx(found, rel=0.03)


def test_a_difference_has_the_freedom_of_both_sides():
    # t(8) = 2.306004
    assert half_width(SEEDS_ONLY, 5, 1, sides=2) == pytest.approx(
        2.306004 * 0.02 / 5**0.5, rel=1e-6
    )


@pytest.mark.parametrize(("n_seeds", "power"), [(3, 0.8), (5, 0.8), (10, 0.9)])
def test_the_smallest_difference_agrees_with_statsmodels(n_seeds, power):
    # A side of variance 0.0002: differences in units of its root.
    effect = TTestIndPower().solve_power(nobs1=n_seeds, alpha=0.05, power=power)
    found = smallest_difference(SEEDS_ONLY, n_seeds, 1, power=power)
    assert found == pytest.approx(effect * 0.0002**0.5, rel=0.015)


def test_the_smallest_difference_is_found_as_often_as_planned():
    rng = np.random.default_rng(0)
    gap = smallest_difference(SEEDS_ONLY, 5, 1)
    a, b = rng.normal(0, 0.0002**0.5, (2, 4_000, 5))
    means = a.mean(axis=1) + gap - b.mean(axis=1)
    errors = ((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / 5) ** 0.5
    assert (means / errors > 2.306).mean() == pytest.approx(0.8, abs=0.03)


def test_the_seeds_needed_are_the_fewest_that_suffice():
    n = seeds_needed(FULL, 1_000, 0.02)
    assert half_width(FULL, n, 1_000) <= 0.02 < half_width(FULL, n - 1, 1_000)


def test_seeds_do_not_make_up_for_few_examples():
    assert seeds_needed(FULL, 100, 0.02) is None


def test_no_spread_needs_the_two_seeds_that_an_interval_needs():
    assert seeds_needed(Components(None, 0.0, None, None), 1, 0.01) == 2


def test_one_seed_or_unknown_components_plan_nothing():
    assert half_width(FULL, 1, 100) is None
    assert half_width(Components(None, None, 0.1, 0.1), 5, 100) is None
    assert smallest_difference(FULL, 1, 100) is None
    assert seeds_needed(Components(None, None, None, None), 100, 0.1) is None


def test_a_study_without_seeds_and_a_sure_test_are_refused():
    with pytest.raises(ValueError, match="no such study"):
        half_width(FULL, 0, 100)
    with pytest.raises(ValueError, match="power of a test"):
        smallest_difference(FULL, 5, 100, power=1.0)
