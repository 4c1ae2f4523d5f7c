from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from harness.stats import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_holm_of_four_has_the_values_of_the_protocol():
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])


def test_benjamini_hochberg_of_four():
    # 4/1, 4/2, 4/3, 4/4 times p is 0.04 each; 0.001 x 4 = 0.004 and 0.5 stays
    assert benjamini_hochberg([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04] * 4)
    assert benjamini_hochberg([0.5, 0.001, 0.02, 0.03]) == pytest.approx([0.5, 0.004, 0.04, 0.04])


def test_shape_and_order_are_kept():
    assert holm([[0.04, 0.01], [0.02, 0.03]]) == pytest.approx(
        np.array([[0.06, 0.04], [0.06, 0.06]])
    )


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
def test_a_comparison_that_was_not_made_does_not_count(correct):
    corrected = correct([0.03, np.nan, 0.01, 0.02, 0.04])
    assert np.isnan(corrected[1])
    assert np.delete(corrected, 1) == pytest.approx(correct([0.03, 0.01, 0.02, 0.04]))
    assert np.isnan(correct([np.nan])).all()


@pytest.mark.parametrize("seed", range(4))
def test_corrections_agree_with_statsmodels(seed):
    p_values = np.random.default_rng(seed).random(8).round(1) ** 3
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
    reference = multipletests(p_values, method="fdr_bh")[1]
    assert benjamini_hochberg(p_values) == pytest.approx(reference)


@given(P_VALUES)
def test_benjamini_hochberg_agrees_with_scipy(p_values):
    assert benjamini_hochberg(p_values) == pytest.approx(false_discovery_control(p_values))


@given(P_VALUES)
def test_no_correction_makes_a_p_smaller_and_holm_is_the_stricter(p_values):
    strict, lenient = holm(p_values), benjamini_hochberg(p_values)
    assert (lenient >= np.array(p_values) - 1e-15).all()
    assert (strict >= lenient - 1e-15).all()


@pytest.mark.parametrize("p_values", [[-0.1], [0.2, 1.1]])
def test_what_is_no_p_value_is_refused(p_values):
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm(p_values)
