"""One call from a frozen grid to a study: check everything, plan, freeze, execute."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from harness.checkpoints import default_cache
from harness.errors import InputError
from harness.execute import Workplace, write_blocked_run
from harness.grid import FrozenGrid, write_frozen
from harness.launch.cost import measure_flops_per_second
from harness.launch.hold import hold_study
from harness.launch.local import run_local
from harness.launch.order import drop_spare_weights, run_in_order
from harness.launch.outcome import OnRecord, Outcome
from harness.launch.plan import Plan, make_plan
from harness.launch.preflight import Checked, check_tasks, refuse_changed_data
from harness.launch.slots import Slots, count_gpus, find_slots
from harness.spec import Checkpoint, Run, Task

LOCAL = "local"


@dataclass(frozen=True)
class Place:
    """Where and how runs execute; nothing here can change which runs there are.

    `address`: None for Ray on this machine, `local` for a plain loop, else a cluster's address.
    `gpus_per_run`: None for one where there is a GPU, else none.
    """

    data_root: Path | None = None
    cache: Path = field(default_factory=default_cache)
    address: str | None = None
    workers: int | None = None
    threads_per_run: int | Literal["auto"] = "auto"
    gpus_per_run: float | None = None


@dataclass(frozen=True)
class Listener:
    """Who is told what goes on; every part may be left out."""

    on_task: Callable[[Task], None] | None = None
    on_checkpoint: Callable[[Checkpoint], None] | None = None
    on_plan: Callable[[FrozenGrid, Plan, Slots], None] | None = None
    on_record: OnRecord | None = None
    on_interrupt: Callable[[], None] | None = None


def plan(
    grid: FrozenGrid,
    study: Path,
    place: Place,
    *,
    retry_failed: bool = False,
    on_task: Callable[[Task], None] | None = None,
) -> tuple[Plan, Slots, Checked]:
    """Check every task's data and say what would run; nothing is written.

    Tasks whose data are not here count with the size that their cards state.

    Raises:
        InputError: the grid, the data or the study is wrong.
    """
    checked = check_tasks(grid.tasks, place.data_root, on_task)
    refuse_changed_data(study, grid, checked.fingerprints)
    slots = _slots(grid, place)
    device = "cuda" if slots.gpus_per_run and place.address in {None, LOCAL} else "cpu"
    made = make_plan(
        grid,
        study,
        workers=slots.workers,
        retry_failed=retry_failed,
        sizes=checked.sizes,
        flops_per_second=measure_flops_per_second(device, slots.threads),
    )
    return made, slots, checked


def run(
    grid: FrozenGrid,
    study: str | Path,
    place: Place | None = None,
    *,
    retry_failed: bool = False,
    listener: Listener | None = None,
) -> Outcome:
    """Execute what a study lacks of a grid's runs; runs that have a record are not run again.

    Checkpoints that can't be loaded are skipped by name, and listed under the study's tables.

    Raises:
        InputError: the grid, the data or the study is wrong; nothing has started then.
    """
    from harness.launch.soundness import skip_unsound  # torch, which a plan does without

    place, study, listener = place or Place(), Path(study), listener or Listener()
    _refuse_unwritable(place.cache, "cache folder (HARNESS_CACHE)")
    grid = skip_unsound(grid, place.cache, listener.on_checkpoint)
    made, slots, checked = plan(
        grid, study, place, retry_failed=retry_failed, on_task=listener.on_task
    )
    checked.refuse_absent()
    _refuse_unwritable(study, "study folder")
    with hold_study(study):
        write_frozen(study, grid)
        return _carry_out(grid, study, made, slots, place, listener)


def _carry_out(
    grid: FrozenGrid, study: Path, made: Plan, slots: Slots, place: Place, listener: Listener
) -> Outcome:
    """Execute a plan; runs that start from others come after these."""
    if listener.on_plan is not None:
        listener.on_plan(grid, made, slots)
    workplace = Workplace(
        study=study.resolve(),
        data_root=place.data_root.resolve() if place.data_root else None,
        cache=place.cache.resolve(),
        device="cuda" if slots.gpus_per_run else "cpu",
        threads=slots.threads,
    )

    def execute(some: Plan) -> Outcome:
        at = replace(workplace, keep=some.sources)
        return _execute(some, at, place, slots, listener)

    def block(run: Run) -> None:
        record = write_blocked_run(run, workplace)
        if listener.on_record is not None:
            listener.on_record(record)

    outcome = run_in_order(made, slots.workers, execute, block)
    drop_spare_weights(grid, study)
    return outcome


def _execute(
    made: Plan,
    workplace: Workplace,
    place: Place,
    slots: Slots,
    listener: Listener,
) -> Outcome:
    """Execute the shards of a plan in the place that was asked for."""
    if not made.shards:
        return Outcome()
    if place.address == LOCAL:
        return run_local(made, workplace, listener.on_record)
    from harness.launch.tune import run_tune

    return run_tune(
        made,
        workplace,
        address=place.address,
        workers=place.workers,
        gpus_per_run=slots.gpus_per_run,
        on_record=listener.on_record,
        on_interrupt=listener.on_interrupt,
    )


def _refuse_unwritable(folder: Path, what: str) -> None:
    """Find out before the start whether a folder can be made and written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        raise InputError(f"{folder}: the {what} can't be written: {error.strerror}") from None


def _slots(grid: FrozenGrid, place: Place) -> Slots:
    here = place.address in {None, LOCAL}
    gpus = count_gpus() if here else int(bool(place.gpus_per_run))
    if place.gpus_per_run == 0:
        gpus = 0
    if place.gpus_per_run and not gpus:
        raise InputError(f"--gpus-per-run {place.gpus_per_run}: this machine has no CUDA device")
    slots = find_slots(
        grid.checkpoints,
        threads_per_run=place.threads_per_run,
        workers=place.workers,
        gpus=gpus,
        gpus_per_run=place.gpus_per_run or 1.0,
    )
    # The plain loop is one worker with the threads of the fan-out, so that scores are the same.
    return replace(slots, workers=1) if place.address == LOCAL else slots
