from __future__ import annotations

import numpy as np
import pytest

from harness.stats import Crossing, crossing, steps_to_reach

STEPS = [1_000, 2_000, 3_000, 4_000]


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def curve(means: list[float], spread: float = 0.0) -> np.ndarray:
    """Make a curve of five seeds a step with exactly these means."""
    return np.array(means)[:, None] + spread * np.array([-1, -0.5, 0, 0.5, 1])


def test_two_lines_cross_where_they_meet():
    # 0.1 behind at 2,000 and 0.3 ahead at 3,000: a quarter of the way.
    found = crossing(STEPS, curve([0, 0.4, 0.8, 1]), curve([0.5] * 4), generator(), replicates=20)
    assert found.step == pytest.approx(2_250)
    # Without spread the band has no width: the bounds are the points looked at beside it.
    assert found.low == pytest.approx(2_250, abs=25)
    assert found.high == pytest.approx(2_250, abs=25)
    assert found.share == 1


def test_the_order_of_the_curves_does_not_matter():
    a, b = curve([0, 0.4, 0.8, 1], 0.2), curve([0.5, 0.5, 0.5, 0.5], 0.1)
    assert crossing(STEPS, a, b, generator()).step == crossing(STEPS, b, a, generator()).step


def test_the_last_of_several_crossings_counts():
    a = curve([0.0, 0.6, 0.4, 0.8])
    assert crossing(STEPS, a, curve([0.5] * 4), generator(), replicates=9).step == 3_250


def test_one_seed_a_step_gives_a_step_without_bounds():
    one = np.array([0, 0.4, 0.8, 1])[:, None]
    for found in (
        crossing(STEPS, one, np.full((4, 1), 0.5), generator()),
        crossing(STEPS, one, curve([0.5] * 4), generator()),
        steps_to_reach(STEPS, one, 0.5, generator()),
    ):
        assert (found.step, found.low, found.high) == (pytest.approx(2_250), None, None)
        assert np.isnan(found.share)


def test_curves_that_do_not_cross_have_no_crossing():
    found = crossing(STEPS, curve([0.6] * 4), curve([0.5] * 4), generator(), replicates=9)
    assert found == Crossing(None, None, None, 0.0)


def test_noise_widens_the_bounds_and_leaves_ends_open():
    a, b = curve([0.4, 0.48, 0.52, 0.9], 0.05), curve([0.5] * 4)
    found = crossing(STEPS, a, b, generator())
    assert found.step == pytest.approx(2_500)
    assert 1_000 < found.low < found.step < found.high < 4_000
    wide = crossing(STEPS, curve([0.4, 0.48, 0.52, 0.6], 0.5), b, generator())
    assert (wide.low, wide.high) == (None, None)
    assert 0 < wide.share < 1


def test_a_score_is_reached_between_two_steps():
    found = steps_to_reach(STEPS, curve([0.1, 0.5, 0.9, 0.8], 0.02), 0.6, generator())
    assert found.step == pytest.approx(2_250)
    assert 2_000 < found.low < 2_250 < found.high < 2_500
    assert found.share == 1


def test_a_score_reached_from_the_start_or_never_has_no_step():
    rising = curve([0.1, 0.5, 0.9, 0.95])
    assert steps_to_reach(STEPS, rising, 0.05, generator(), replicates=9).step is None
    never = steps_to_reach(STEPS, rising, 0.99, generator(), replicates=9)
    assert (never.step, never.low, never.high, never.share) == (None, None, None, 0)


def test_a_score_almost_reached_may_have_been():
    found = steps_to_reach(STEPS, curve([0.1, 0.5, 0.7, 0.88], 0.1), 0.9, generator())
    assert found.step is None
    assert 3_000 < found.low < 4_000
    assert found.high is None


def test_equal_generators_give_equal_bounds():
    a, b = curve([0.4, 0.48, 0.52, 0.9], 0.05), curve([0.5] * 4, 0.02)
    first, again, other = (crossing(STEPS, a, b, generator(s), replicates=50) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_steps_that_do_not_rise_or_fit_are_refused():
    with pytest.raises(ValueError, match="rising steps"):
        steps_to_reach([2, 1], curve([0.1, 0.2]), 0.5, generator())
    with pytest.raises(ValueError, match="4 steps for"):
        crossing(STEPS, curve([0.1] * 4), curve([0.1] * 3), generator())


def test_the_band_of_two_seeds_is_as_wide_as_student_says():
    """Two seeds 0.01 off: drawn means lie sqrt(2) 0.01 off; t(1) is 6.483 normal quantiles."""
    scores = np.array([0.0, 0.1, 0.2, 0.3])[:, None] + np.array([-0.01, 0.01])
    found = steps_to_reach(STEPS, scores, 0.15, generator())
    reach = 12.7062 / 1.95996 * np.sqrt(2) * 0.01
    assert found.step == pytest.approx(2_500)
    # Bounds are looked for every 20 steps.
    assert found.low == pytest.approx(2_500 - 10_000 * reach, abs=20)
    assert found.high == pytest.approx(2_500 + 10_000 * reach, abs=20)
