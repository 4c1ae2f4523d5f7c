"""How many seeds and examples a claim needs, from the components of a pilot study.

A plan, not a promise: the components of a pilot are themselves estimates, and rough ones from few
seeds. Half widths are those that `over_seeds_and_examples` and `compare_runs` would print if the
components were right.
"""

from __future__ import annotations

import math

from scipy.special import stdtrit

from harness.stats.intervals import Estimate, Part
from harness.stats.variance import Components


def half_width(
    components: Components,
    n_seeds: int,
    n_examples: int,
    *,
    sides: int = 1,
    confidence: float = 0.95,
) -> float | None:
    """Give the half width of a cell's interval with so many seeds and examples.

    With `sides=2` that of a difference with `n_seeds` seeds a side, from `difference_components`.
    Components of scores of runs have no part of the examples: `n_examples` is then that of the
    pilot, whatever is passed. None for one seed, or where the components do not tell of seeds.
    """
    expected = _expect(components, n_seeds, n_examples, sides)
    return None if expected is None else expected.interval(confidence).half_width


def smallest_difference(
    components: Components,
    n_seeds: int,
    n_examples: int,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float | None:
    """Give the difference of two checkpoints that is found with probability `power`.

    `components` are `difference_components`; `n_seeds` a side; the test is two-sided at `alpha`.
    The quantiles of alpha and power are added for each part, as in the usual approximation to the
    noncentral t. None where there is no half width.
    """
    expected = _expect(components, n_seeds, n_examples, sides=2)
    if expected is None:
        return None
    if not alpha / 2 < power < 1:
        raise ValueError(f"the power of a test is a share between alpha / 2 and 1, not {power!r}")
    parts = [part for part in (expected.seeds, expected.examples) if part is not None]
    squares = (
        (stdtrit(part.freedom, 1 - alpha / 2) + stdtrit(part.freedom, power)) ** 2 * part.net
        for part in parts
    )
    return math.sqrt(sum(float(square) for square in squares))


def seeds_needed(
    components: Components,
    n_examples: int,
    wanted_half_width: float,
    *,
    sides: int = 1,
    confidence: float = 0.95,
    most: int = 1_000,
) -> int | None:
    """Give the fewest seeds (a side) whose half width is no wider than wanted.

    None where `most` seeds are too few: more seeds do not make up for few examples.
    """
    few, many = 1, most

    def suffices(n_seeds: int) -> bool:
        width = half_width(components, n_seeds, n_examples, sides=sides, confidence=confidence)
        return width is not None and width <= wanted_half_width

    if not suffices(many):
        return None
    # The half width falls with every seed: halve the range between too few and enough.
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if suffices(middle) else (middle, many)
    return many


def _expect(components: Components, n_seeds: int, n_examples: int, sides: int) -> Estimate | None:
    if n_seeds < 1 or n_examples < 1 or sides not in (1, 2):
        raise ValueError(f"no such study: {n_seeds} seeds, {n_examples} examples, {sides} sides")
    if n_seeds == 1 or components.seed is None:
        return None
    seeds = Part(components.seed / n_seeds, sides * (n_seeds - 1))
    if components.example is None or components.residual is None or n_examples == 1:
        return Estimate(0.0, seeds, None)
    variance = components.example / n_examples + components.residual / (n_seeds * n_examples)
    return Estimate(0.0, seeds, Part(variance, n_examples - 1))
