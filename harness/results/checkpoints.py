"""What is known of checkpoints, as the last columns of every frame that names checkpoints."""

from __future__ import annotations

import pandas as pd

from harness.grid import FrozenGrid
from harness.results.cells import RATES_TYPES, TABLE_TYPES
from harness.results.frames import NAMES, RECORD_TYPES

_TAKEN = frozenset({*RECORD_TYPES, *NAMES, *TABLE_TYPES, *RATES_TYPES, "value", "reason"})
_PREFIXES = ("seconds_", "counts_")


def checkpoint_columns(grid: FrozenGrid) -> pd.DataFrame:
    """Lay out the columns of a grid's checkpoints: a row a checkpoint, indexed by its name.

    A name that a frame has already is prefixed in all of them: the `steps` of pretraining are
    `checkpoint_steps`, since `steps` are those of a run.
    """
    taken = _TAKEN | set(grid.sweep)
    rows = [
        {
            f"checkpoint_{name}" if name in taken or name.startswith(_PREFIXES) else name: value
            for name, value in checkpoint.columns.items()
        }
        for checkpoint in grid.checkpoints
    ]
    names = pd.Index([checkpoint.name for checkpoint in grid.checkpoints], name="checkpoint")
    return pd.DataFrame(rows, index=names).convert_dtypes()


def with_columns(frame: pd.DataFrame, grid: FrozenGrid) -> pd.DataFrame:
    """Add the columns of the checkpoints to a frame with a column `checkpoint`."""
    return frame.join(checkpoint_columns(grid), on="checkpoint")
