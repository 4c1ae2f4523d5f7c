"""Intervals hold the truth as often as they say: the studies of benchmarks/coverage.py, fewer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from benchmarks.simulated_cells import DESIGNS, Claim, claims
from benchmarks.simulated_studies import FAMILIES


def count(stated: Iterable[Claim]) -> dict[str, float]:
    """Give the share of intervals that hold the truth, by name; open ends hold all."""
    held: dict[str, list[bool]] = {}
    for name, interval, truth in stated:
        above = interval.low is None or interval.low <= truth
        below = interval.high is None or truth <= interval.high
        held.setdefault(name, []).append(above and below)
    return {name: float(np.mean(hits)) for name, hits in held.items()}


def coverage(design_number: int, n_seeds: int, n_examples: int) -> dict[str, float]:
    rng = np.random.default_rng(design_number)
    return count(claims(DESIGNS[design_number], n_seeds, n_examples, 800, rng))


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


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_intervals_across_tasks_rates_steps_and_choices_cover_about_what_they_say(family):
    rng = np.random.default_rng(0)
    found = count(itertools.chain.from_iterable(family(5, rng) for _ in range(100)))
    # 100 studies count 95 % to within 2.2; ranges and nested choices may cover more, never less.
    assert min(found.values()) > 0.87
