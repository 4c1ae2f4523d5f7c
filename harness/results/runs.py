"""The runs of a study as cells, a checkpoint and task each: what all its analyses start from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from harness.foreign import AnyGrid, AnyRun
from harness.results.cells import Cells
from harness.results.examples import ExampleReader
from harness.results.merging import name_rows


class Runs:
    """Planned runs with their records, of one or several studies."""

    paths: tuple[Path, ...]
    grids: tuple[AnyGrid, ...]
    planned: list[AnyRun]
    latest: Mapping[str, dict[str, Any]]
    homes: Mapping[str, Path]
    _with_columns: Callable[[pd.DataFrame], pd.DataFrame]

    @property
    def sweep(self) -> tuple[str, ...]:
        """The recipe fields that vary in any of the grids."""
        return tuple(dict.fromkeys(itertools.chain.from_iterable(g.sweep for g in self.grids)))

    @cached_property
    def _rows(self) -> dict[str, str]:
        return name_rows(self.planned, self.sweep)

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.planned, self._rows, self.latest, self.sweep)

    @cached_property
    def _reader(self) -> ExampleReader:
        return ExampleReader(self.homes, self.latest)
