"""Which features meet in which batch: pure index arithmetic, from lengths and a generator alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.spec import Recipe

Rows = NDArray[np.int64]


def plan_steps(
    lengths: NDArray[np.int64], recipe: Recipe, generator: np.random.Generator
) -> list[Rows]:
    """Give the rows of every step of a run: epoch after epoch, each one covering all rows once.

    `lengths` are the tokens of each row. The order depends on the generator, the lengths and how
    the recipe batches, not on its rates: runs of one seed see the same batches.
    """
    steps = recipe.total_steps(len(lengths))
    batches: list[Rows] = []
    while len(batches) < steps:
        batches += plan_epoch(lengths, recipe, generator)
    return batches[:steps]


def plan_epoch(
    lengths: NDArray[np.int64], recipe: Recipe, generator: np.random.Generator
) -> list[Rows]:
    """Cut one shuffled pass over all rows into batches; what is left over is a smaller batch.

    padded: as shuffled. bucketed: windows of `bucket_batches` batches are sorted by length before
    they are cut, and the batches of a window shuffled after it.
    """
    order = generator.permutation(len(lengths))
    size = recipe.batch_size
    if recipe.batching == "padded":
        return _cut(order, size)
    batches: list[Rows] = []
    for window in _cut(order, size * recipe.bucket_batches):
        by_length = window[np.argsort(lengths[window], kind="stable")]
        cut = _cut(by_length, size)
        batches += [cut[place] for place in generator.permutation(len(cut))]
    return batches


def split_by_tokens(lengths: NDArray[np.int64], max_tokens: int) -> list[Rows]:
    """Cut rows into groups of at most `max_tokens` padded tokens, the longest rows first.

    A row that is longer than that is a group of its own.
    """
    order = np.argsort(-lengths, kind="stable")
    groups: list[Rows] = []
    begin = 0
    while begin < len(order):
        longest = max(1, int(lengths[order[begin]]))
        end = begin + max(1, max_tokens // longest)
        groups.append(order[begin:end])
        begin = end
    return groups


def _cut(rows: Rows, size: int) -> list[Rows]:
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]
