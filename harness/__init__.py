"""Large-scale fine-tuning evaluation: which checkpoint is better at what, and is it real?

    grid = harness.load_grid("lr_seed.yaml", checkpoints="ckpts/")
    study = harness.run(grid, "results/objectives")      # goes on where it stopped
    study = harness.load_study("results/objectives")     # in a notebook
    study.table()                                        # test mean +/- 95 % interval, n

Importing this package imports neither torch nor ray nor pandas; a name is loaded when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from harness.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from harness.grid import FrozenGrid, load_grid
    from harness.launch.run import Place
    from harness.results import Study, load_study

_HOMES = {
    "FrozenGrid": "harness.grid",
    "Place": "harness.launch.run",
    "Study": "harness.results",
    "load_grid": "harness.grid",
    "load_study": "harness.results",
}
__all__ = ["FrozenGrid", "Place", "Study", "__version__", "load_grid", "load_study", "run"]


def run(
    grid: FrozenGrid,
    study: str | Path,
    place: Place | None = None,
    *,
    retry_failed: bool = False,
) -> Study:
    """Execute what a study lacks of a grid's runs, and read it.

    `place` says where runs execute: data root, Ray address, workers, threads. Raises InputError
    before anything starts when the grid, the data or the study is wrong.
    """
    from harness.launch.run import run as run_study
    from harness.results import load_study

    run_study(grid, study, place, retry_failed=retry_failed)
    return load_study(study)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
