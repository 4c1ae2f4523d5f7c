"""Intervals hold the truth as often as they say: the studies of benchmarks/coverage.py, fewer."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulated_cells import DESIGNS, claims


def coverage(design_number: int, n_seeds: int, n_examples: int) -> dict[str, float]:
    rng = np.random.default_rng(design_number)
    held: dict[str, list[bool]] = {}
    for name, interval, truth in claims(DESIGNS[design_number], n_seeds, n_examples, 800, rng):
        held.setdefault(name, []).append(interval.low <= truth <= interval.high)
    return {name: float(np.mean(hits)) for name, hits in held.items()}


# 800 studies count 95 % to within 0.8; the bounds are those of the promise and two of these.
@pytest.mark.parametrize(
    ("design_number", "n_seeds", "n_examples"),
    [
        (3, 5, 50),
        pytest.param(1, 3, 500, marks=pytest.mark.slow),
        pytest.param(4, 3, 50, marks=pytest.mark.slow),
        pytest.param(5, 5, 50, marks=pytest.mark.slow),
        pytest.param(7, 10, 500, marks=pytest.mark.slow),
    ],
)
def test_intervals_of_cells_cover_93_to_97_percent(design_number, n_seeds, n_examples):
    found = coverage(design_number, n_seeds, n_examples)
    for name in ("seeds", "both", "difference"):
        assert 0.914 < found[name] < 0.986, name


def test_the_interval_over_seeds_says_nothing_of_other_examples():
    assert coverage(1, 5, 50)["seeds, asked for both"] < 0.75


def test_plain_percentiles_of_three_seeds_cover_too_little():
    assert coverage(4, 3, 50)["percentiles"] < 0.91
