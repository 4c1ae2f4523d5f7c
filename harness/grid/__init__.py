"""What is varied: a YAML file that expands to runs, and its frozen form inside a study.

A `Grid` is the file as written. Freezing it resolves its task names and adds the checkpoints; the
`FrozenGrid` is written into the study as `grid.json` and alone says which runs are planned.
"""

from __future__ import annotations

from harness.grid.frozen import (
    GRID_FILE,
    FrozenGrid,
    SkippedCheckpoint,
    read_frozen,
    write_frozen,
)
from harness.grid.resolving import freeze, load_grid
from harness.grid.written import Grid, PartialRecipe, Select, find_grid_file, task_folders

__all__ = [
    "GRID_FILE",
    "FrozenGrid",
    "Grid",
    "PartialRecipe",
    "Select",
    "SkippedCheckpoint",
    "find_grid_file",
    "freeze",
    "load_grid",
    "read_frozen",
    "task_folders",
    "write_frozen",
]
