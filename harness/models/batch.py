"""Padded batches: rows of an encoded split, gathered into tensors by array operations alone.

Shapes: B features, L tokens of the longest one, N labelled tokens, D hidden units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

if TYPE_CHECKING:
    from harness.data.encode import Encoded
    from harness.spec import Pooling

FEATURE_TARGETS = ("label", "start", "end", "null", "context_begin", "gold_first", "gold_last")


@dataclass(frozen=True)
class Layout:
    """What a backbone asks of its batches."""

    pad_id: int
    has_type_ids: bool
    pooling: Pooling
    device: str = "cpu"


@dataclass(frozen=True)
class Batch:
    """Features side by side, padded on the right.

    `targets` holds (B,) tensors `label`, `start`, `end`, `null`; the first and last token of the
    first answer `gold_first`, `gold_last`, counted in the context, which begins `context_begin`
    tokens into the feature; the boolean `context_BL` (tokens that an answer may consist of); and
    for tagging `word_position` (N,), places in the flattened (B, L) at which a word begins, with
    their classes `tag` (N,).
    """

    token_ids_BL: torch.Tensor
    lengths_B: torch.Tensor
    mask_BL: torch.Tensor | None
    """True on tokens; None where no feature is padded."""
    type_ids_BL: torch.Tensor | None
    targets: dict[str, torch.Tensor]
    pooling: Pooling
    source: NDArray[np.int64]
    """Places in the flat arrays of the split, of all tokens, row by row: (tokens,)."""
    context_tokens: int = 0
    """Tokens that an answer may consist of: a count that no device has to be asked for."""

    def __len__(self) -> int:
        return len(self.lengths_B)


def flat_places(encoded: Encoded, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the places of the tokens of some features in the flat arrays, feature by feature."""
    starts = encoded.starts[rows]
    lengths = encoded.starts[rows + 1] - starts
    shift = starts - (np.cumsum(lengths) - lengths)
    return np.repeat(shift, lengths) + np.arange(lengths.sum())


def collate(encoded: Encoded, rows: NDArray[np.int64], layout: Layout) -> Batch:
    """Gather some features of a split into one batch on the device of the layout."""
    lengths = encoded.starts[rows + 1] - encoded.starts[rows]
    source = flat_places(encoded, rows)
    mask = np.arange(lengths.max())[None, :] < lengths[:, None]

    def padded(values: NDArray[np.generic], fill: int) -> NDArray[np.int64]:
        grid = np.full(mask.shape, fill, dtype=np.int64)
        grid[mask] = values[source]
        return grid

    def move(values: NDArray[np.generic]) -> torch.Tensor:
        tensor = torch.from_numpy(values)
        if layout.device == "cpu":
            return tensor
        return tensor.pin_memory().to(layout.device, non_blocking=True)

    types = encoded.type_ids if layout.has_type_ids else None
    targets = _targets(encoded, rows, source, mask)
    return Batch(
        token_ids_BL=move(padded(encoded.token_ids, layout.pad_id)),
        lengths_B=move(lengths),
        mask_BL=None if mask.all() else move(mask),
        type_ids_BL=None if types is None else move(padded(types, 0)),
        targets={name: move(value) for name, value in targets.items()},
        pooling=layout.pooling,
        source=source,
        context_tokens=int(np.count_nonzero(targets.get("context_BL", 0))),
    )


def _targets(
    encoded: Encoded,
    rows: NDArray[np.int64],
    source: NDArray[np.int64],
    mask: NDArray[np.bool_],
) -> dict[str, NDArray[np.generic]]:
    targets: dict[str, NDArray[np.generic]] = {}
    for name in FEATURE_TARGETS:
        if name in encoded.targets:
            values = np.asarray(encoded.targets[name][rows])
            is_float = np.issubdtype(values.dtype, np.floating)
            targets[name] = values.astype(np.float32 if is_float else np.int64)
    if "word" in encoded.targets:
        begins = encoded.targets["word"][source] >= 0
        tags = encoded.targets["tag"][source][begins]
        targets["word_position"] = np.flatnonzero(mask)[begins]
        targets["tag"] = tags.astype(np.int64)
    if "offset_start" in encoded.targets:
        context = np.zeros(mask.shape, dtype=np.bool_)
        context[mask] = encoded.targets["offset_start"][source] >= 0
        targets["context_BL"] = context
    return targets
