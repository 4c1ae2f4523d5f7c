"""Tasks that share their trainings: a seed of one is a seed of all, so it is one draw for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from harness.foreign import ForeignTask
from harness.results.choosing import Picked
from harness.results.examples import Drawn
from harness.stats import Estimate
from harness.stats.bootstrap import noise_variance
from harness.stats.intervals import Part, add_parts, seeds_part

Weighted = tuple[float, Picked]
"""How much the mean of a cell counts in a sum, and the cell."""


def count_trainings_once(
    estimate: Estimate, cells: Iterable[Weighted], drawn: Mapping[str, Drawn | None]
) -> Estimate:
    """Give the estimate of a weighted sum of cells with the seeds of shared trainings drawn once.

    `estimate` takes all cells as independent. Those of one checkpoint whose tasks say that they
    share their trainings, at the same point, are summed seed by seed instead, over the seeds that
    all of them have; what examples do to the answers of a run is still each task's own.
    """
    blocks: dict[tuple[object, ...], list[Weighted]] = {}
    for number, (weight, picked) in enumerate(cells):
        blocks.setdefault(_training(picked) or (number,), []).append((weight, picked))
    if estimate.seeds is None or all(len(block) == 1 for block in blocks.values()):
        return estimate
    parts = [_seeds(block, drawn) for block in blocks.values()]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return Estimate(estimate.mean, None, None)
    return replace(estimate, seeds=add_parts(known))


def share_trainings(cells: Iterable[Picked]) -> bool:
    """Say whether two of some cells are of the same trainings."""
    trainings = [training for picked in cells if (training := _training(picked))]
    return len(set(trainings)) < len(trainings)


def _training(picked: Picked) -> tuple[object, ...] | None:
    """Name what was trained for a cell; None where no other task can have the same."""
    task = picked.cell.task
    if not isinstance(task, ForeignTask) or task.trained_on is None:
        return None
    # With a point a seed, some of the trainings may be others; seed by seed is right for these too.
    point = None if picked.point is None else picked.cell.recipes[picked.point].identity
    return task.trained_on, picked.cell.checkpoint, point


def _seeds(block: Iterable[Weighted], drawn: Mapping[str, Drawn | None]) -> Part | None:
    block = list(block)
    by_seed = [dict(zip(_seeds_of(picked), picked.scores, strict=True)) for _, picked in block]
    shared = sorted(set.intersection(*map(set, by_seed)))
    if len(shared) < 2:
        return None
    sums = np.zeros(len(shared))
    noise = 0.0
    for (weight, picked), scores in zip(block, by_seed, strict=True):
        sums += weight * np.array([scores[seed] for seed in shared])
        of_task = drawn.get(picked.cell.task.name)
        if of_task is not None:
            noise += weight**2 * noise_variance(of_task.of(picked.run_ids))
    return seeds_part(sums, noise)


def _seeds_of(picked: Picked) -> list[int]:
    return [
        seed for seed, point in zip(picked.cell.seeds, picked.points, strict=True) if point >= 0
    ]
