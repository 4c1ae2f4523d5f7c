"""Hold-out and limits: seeded by the task, never by the run, and in the order of the file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.seeding import numpy_generator
from harness.spec import ROLES, HoldOut, Limit, Role


def hold_out(
    count: int, rule: HoldOut, role: Role = "validation"
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Part the rows 0..count-1, at least two, into (training, held out), both ascending.

    The part held out has round(fraction x count) rows; neither part is left empty.
    """
    assert count > 1
    size = min(max(round(rule.fraction * count), 1), count - 1)
    name = "holdout" if role == "validation" else "holdout-test"
    order = numpy_generator(rule.seed, name).permutation(count)
    return np.sort(order[size:]), np.sort(order[:size])


def limit_rows(count: int, limit: Limit | None, split: str) -> NDArray[np.int64]:
    """Choose at most the limit's number of the rows 0..count-1 of a split, ascending.

    Further test sets have the limit of `test`.
    """
    size = None if limit is None else getattr(limit, split if split in ROLES else "test")
    if limit is None or size is None or size >= count:
        return np.arange(count, dtype=np.int64)
    generator = numpy_generator(limit.seed, f"limit-{split}")
    return np.sort(generator.permutation(count)[:size])
