from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM

from harness.stats import Components, average_components, components, difference_components


def simulate(shape: tuple[int, int, int], seed: int = 0) -> np.ndarray:
    """Draw rates x seeds x examples with variances 0.5, 0.2, 1.0 and 0.3."""
    rng = np.random.default_rng(seed)
    n_rates, n_seeds, n_examples = shape
    x = rng.normal(0, 0.5**0.5, (n_rates, 1, 1)) + rng.normal(0, 0.2**0.5, (n_rates, n_seeds, 1))
    return x + rng.normal(0, 1, n_examples) + rng.normal(0, 0.3**0.5, shape)


def test_two_rates_of_two_seeds_by_hand():
    # Within: 0.02 and 0.02, means 0.8 and 0.6: 0.02 - 0.0002 / 2 between.
    found = components([[0.79, 0.81], [0.59, 0.61]])
    assert found.seed == pytest.approx(0.0002)
    assert found.rate == pytest.approx(0.02 - 0.0001)
    assert (found.example, found.residual) == (None, None)


def test_two_seeds_and_two_examples_by_hand():
    # Rows 1, 0 and 1, 2. Left after row and column means: -+0.5, so residual 1 on 1 degree.
    # Seeds 0.5 and 1.5: 0.5 - 1 / 2 = 0. Examples 1 and 1: 0 - 1 / 2, given as 0.
    found = components([[[1, 0], [1, 2]]])
    assert found == Components(None, 0.0, 0.0, pytest.approx(1.0))


def test_large_studies_give_back_what_they_were_drawn_from():
    found = components(simulate((60, 60, 400)))
    assert found.rate == pytest.approx(0.5, rel=0.3)
    assert found.seed == pytest.approx(0.2, rel=0.1)
    assert found.example == pytest.approx(1.0, rel=0.2)
    assert found.residual == pytest.approx(0.3, rel=0.02)
    assert found.shares() == pytest.approx(
        {"rate": 0.25, "seed": 0.1, "example": 0.5, "residual": 0.15}, abs=0.06
    )


def test_a_balanced_study_agrees_with_the_mixed_model_of_statsmodels():
    x = simulate((3, 4, 10), seed=3)
    rate, seed, example = (index.ravel() for index in np.indices(x.shape))
    frame = pd.DataFrame({"x": x.ravel(), "rate": rate, "run": rate * 4 + seed, "example": example})
    parts = {name: f"0 + C({name})" for name in ("rate", "run", "example")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of statsmodels, on how it fits
        model = MixedLM.from_formula("x ~ 1", groups=np.ones(x.size), vc_formula=parts, data=frame)
        fitted = model.fit(reml=True)
    variances = dict(zip(model.exog_vc.names, fitted.vcomp, strict=True))
    found = components(x)
    assert found.rate == pytest.approx(variances["rate"], rel=1e-3)
    assert found.seed == pytest.approx(variances["run"], rel=1e-3)
    assert found.example == pytest.approx(variances["example"], rel=1e-3)
    assert found.residual == pytest.approx(fitted.scale, rel=1e-3)


def test_one_rate_tells_nothing_of_rates_and_one_seed_nothing_of_seeds():
    x = simulate((3, 4, 10))
    assert components(x[:1]).rate is None
    alone = components(x[:, :1])
    assert (alone.rate, alone.seed) == (None, None)
    assert alone.example is not None


def test_a_difference_loses_the_difficulty_that_both_sides_share():
    rng = np.random.default_rng(0)
    ease = rng.normal(0, 3, 2_000)
    a = ease + rng.normal(0, 0.5, 2_000) + rng.normal(0, 1, (5, 2_000))
    b = ease + rng.normal(0, 1, (4, 2_000))
    found = difference_components(a, b)
    assert found.rate is None
    assert found.example == pytest.approx(0.25, rel=0.3)
    assert found.residual == pytest.approx(2.0, rel=0.05)
    assert found.seed == pytest.approx(0, abs=0.01)


def test_a_difference_of_scores_of_runs_adds_the_seeds_of_both_sides():
    found = difference_components([0.1, 0.3], [0.2, 0.5, 0.8])
    assert found == Components(None, pytest.approx(0.02 + 0.09), None, None)


def test_an_average_takes_each_part_from_those_that_know_it():
    found = average_components([Components(None, 1.0, 2.0, None), Components(4.0, 3.0, None, None)])
    assert found == Components(4.0, 2.0, 2.0, None)


def test_shares_of_nothing_are_none():
    assert Components(None, 0.0, None, None).shares() == {}


def test_too_small_a_study_is_refused():
    with pytest.raises(ValueError, match="two runs and two examples"):
        components(np.ones((1, 1, 5)))
    with pytest.raises(ValueError, match="can't be paired"):
        difference_components(np.ones((2, 5)), np.ones((2, 6)))
