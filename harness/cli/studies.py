"""The commands that plan, execute and watch a study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from harness.cli import options
from harness.cli.catalogue import choose
from harness.cli.progress import run_progress

if TYPE_CHECKING:
    from harness.grid import FrozenGrid
    from harness.launch.outcome import Outcome
    from harness.launch.plan import Plan
    from harness.launch.run import Place
    from harness.launch.slots import Slots

SOME_FAILED = 1
INTERRUPTED = 130
console = Console(stderr=True)
"""What goes on; results alone go to standard output."""


def plan(
    checkpoints: options.Checkpoints,
    grid: options.GridFile,
    study: options.StudyFolder = None,
    tasks: options.Tasks = None,
    data_root: options.DataRoot = None,
    attention: options.Attention = None,
    pooling: options.Pooling = None,
    tokenizer: options.Tokenizer = None,
    name_pattern: options.NamePattern = None,
    random_init: options.RandomInit = False,
    retry_failed: options.RetryFailed = False,
    workers: options.Workers = None,
    threads_per_run: options.ThreadsPerRun = "auto",
    gpus_per_run: options.GpusPerRun = None,
    address: options.Address = None,
    half_width: Annotated[
        float | None,
        typer.Option(help="With --pilot: how many seeds give intervals of this half width?"),
    ] = None,
    pilot: Annotated[
        Path | None, typer.Option(help="A study of the same tasks, whose variances are used.")
    ] = None,
) -> None:
    """Show which runs a grid means and what they cost; check all data; start nothing.

    Where the data of a task are not here yet, the size that its card states counts.
    """
    from harness.launch.run import plan as plan_study

    chosen = choose(attention, pooling, tokenizer, name_pattern, random_init)
    frozen = load(grid, checkpoints, tasks, chosen)
    place = make_place(data_root, workers, threads_per_run, gpus_per_run, address)
    with console.status("reading data") as status:
        made, slots, checked = plan_study(
            frozen,
            study or default_study(frozen),
            place,
            retry_failed=retry_failed,
            on_task=lambda task: status.update(f"reading data of {task.name}"),
        )
    out = Console()
    tests = f"; {made.tests:,} runs x test sets" if made.tests > made.total else ""
    out.print(f"[bold]{frozen.name}[/]: {made.total:,} runs{tests}")
    out.print(
        f"  {len(frozen.checkpoints)} checkpoints x {len(frozen.tasks)} tasks x "
        f"{_points(frozen)} points x {len(frozen.seeds)} seeds"
    )
    for task in frozen.tasks:
        size = checked.sizes[task.name]
        stated = " [yellow](stated by its card; not here)[/]" if task.name in checked.absent else ""
        out.print(
            f"  {task.name}: {size.train_examples:,} train, {size.validation_examples:,} "
            f"validation, {size.test_examples:,} test, about {size.mean_tokens:.0f} tokens each"
            f"{stated}",
            soft_wrap=True,
        )
    for skipped in frozen.skipped:
        out.print(f"[yellow]skipped[/] {escape(skipped.name)}: {escape(skipped.reason)}")
    show_plan(made, slots, out)
    if checked.absent:
        out.print("[yellow]before a run, bring the data that are not here:[/]")
        for reason in checked.absent.values():
            out.print(f"  {escape(reason)}", soft_wrap=True)
    if half_width is not None or pilot is not None:
        show_seeds_needed(frozen, pilot, half_width, out)


def run(
    checkpoints: options.Checkpoints,
    grid: options.GridFile,
    study: options.StudyFolder = None,
    tasks: options.Tasks = None,
    data_root: options.DataRoot = None,
    attention: options.Attention = None,
    pooling: options.Pooling = None,
    tokenizer: options.Tokenizer = None,
    name_pattern: options.NamePattern = None,
    random_init: options.RandomInit = False,
    retry_failed: options.RetryFailed = False,
    workers: options.Workers = None,
    threads_per_run: options.ThreadsPerRun = "auto",
    gpus_per_run: options.GpusPerRun = None,
    address: options.Address = None,
) -> None:
    """Run what a grid means and the study lacks; after a stop, the same command goes on."""
    chosen = choose(attention, pooling, tokenizer, name_pattern, random_init)
    frozen = load(grid, checkpoints, tasks, chosen)
    place = make_place(data_root, workers, threads_per_run, gpus_per_run, address)
    execute(frozen, study or default_study(frozen), place, retry_failed=retry_failed)


def status(study: options.Study) -> None:
    """Count what is done, failed and left, and say how long the rest may take."""
    from harness.report.status import count_status

    now = count_status(study)
    out = Console()
    out.print(f"[bold]{escape(str(study))}[/]: {now.planned:,} runs planned")
    for word, count in now.counts.items():
        out.print(f"  {word:<9}{count:>8,}")
    if now.last_record is not None:
        out.print(f"last record: {now.last_record:%Y-%m-%d %H:%M:%S} UTC")
    if now.seconds_left and now.runs_per_hour:
        left = duration(now.seconds_left)
        out.print(f"about {left} left at the latest pace, {now.runs_per_hour:,.0f} runs an hour")
    for line in now.faults:
        out.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)


# --- what `run` and `demo` share ----------------------------------------------------------------


def load(
    grid: str,
    checkpoints: list[str],
    tasks: list[Path] | None,
    chosen: Mapping[str, Any],
) -> FrozenGrid:
    """Resolve a grid, its checkpoints and cards; hashing large weights is what may take a while."""
    from harness.grid import load_grid

    with console.status("reading checkpoints"):
        return load_grid(grid, checkpoints, tasks=tasks or [], **chosen)


def make_place(
    data_root: Path | None,
    workers: int | None,
    threads_per_run: str,
    gpus_per_run: float | None,
    address: str | None,
) -> Place:
    """Check the options that say where runs execute."""
    from harness.errors import InputError
    from harness.launch.run import Place

    if threads_per_run != "auto" and not threads_per_run.isdecimal():
        raise InputError(f"--threads-per-run {threads_per_run}: must be a whole number or auto")
    return Place(
        data_root=data_root,
        address=address,
        workers=workers,
        threads_per_run="auto" if threads_per_run == "auto" else int(threads_per_run),
        gpus_per_run=gpus_per_run,
    )


def default_study(grid: FrozenGrid) -> Path:
    """Keep a study under results/ by the name of its grid."""
    return Path("results") / grid.name


def execute(grid: FrozenGrid, study: Path, place: Place, *, retry_failed: bool = False) -> None:
    """Run with progress; exit with 1 where runs failed or diverged, with 130 after Ctrl-C."""
    from harness.launch.run import Listener
    from harness.launch.run import run as run_study

    with run_progress(console) as progress:

        def on_plan(made_of: FrozenGrid, made: Plan, slots: Slots) -> None:
            for skipped in made_of.skipped:
                reason = escape(skipped.reason)
                console.print(f"[yellow]skipped[/] {escape(skipped.name)}: {reason}")
            show_plan(made, slots, console)
            progress.start(made.to_run)
            progress.say("starting workers")

        listener = Listener(
            on_task=lambda task: progress.say(f"reading data of {task.name}"),
            on_checkpoint=lambda item: progress.say(f"trying checkpoint {item.name}"),
            on_plan=on_plan,
            on_record=progress.advance,
            on_interrupt=lambda: console.print(
                "stopping; runs in flight get a few seconds, then they are cut off (again: at once)"
            ),
        )
        outcome = run_study(grid, study, place, retry_failed=retry_failed, listener=listener)
    _conclude(study, outcome)


def show_plan(plan: Plan, slots: Slots, out: Console) -> None:
    """Say in a few lines what is done, what would run, and what it costs."""
    blocked = f", {len(plan.blocked):,} blocked" if plan.blocked else ""
    out.print(f"{plan.done:,} done, {plan.failed:,} failed{blocked}, {plan.to_run:,} to run")
    if plan.waiting:
        size = f"{plan.kept_bytes / 1e9:,.1f} GB" if plan.kept_bytes else "space"
        out.print(
            f"{len(plan.waiting):,} of these wait for the runs whose weights they start from, "
            f"which take up to {size} of disk meanwhile"
        )
    if plan.cost is None or not plan.to_run:
        return
    place = f"{slots.workers} at a time, {slots.threads} threads each"
    if slots.gpus_per_run:
        place += f", {slots.gpus_per_run:g} GPUs each"
    tokens = plan.cost.train_tokens + plan.cost.evaluation_tokens
    parts = [
        f"{tokens / 1e6:,.1f} M tokens",
        f"{plan.cost.disk_bytes / 1e6:,.1f} MB of predictions",
    ]
    if plan.cost.hours is not None:
        parts.insert(1, f"roughly {duration(plan.cost.hours * 3600)}")
    out.print(f"{', '.join(parts)} ({place})")


def show_seeds_needed(
    grid: FrozenGrid, pilot: Path | None, half_width: float | None, out: Console
) -> None:
    """Say for each task how many seeds a cell needs, from the variances of an earlier study."""
    from harness.errors import InputError
    from harness.results import load_study

    if pilot is None or half_width is None:
        raise InputError("--half-width needs --pilot STUDY to learn variances from, and vice versa")
    needed = load_study(pilot).seeds_needed(half_width).set_index("task")
    for task in grid.tasks:
        if task.name not in needed.index:
            reason = f"no two good runs of one learning rate in {escape(str(pilot))}"
            out.print(f"  {task.name}: {reason}", soft_wrap=True)
            continue
        found = needed["seeds_needed"].dropna()
        is_enough = task.name in found.index
        said = f"{found[task.name]} seeds" if is_enough else "no number of seeds is enough"
        out.print(f"  {task.name}: {said} for ± {half_width:g} ({len(grid.seeds)} planned)")


def duration(seconds: float) -> str:
    """Write seconds as people say them."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.1f} h"


def _conclude(study: Path, outcome: Outcome) -> None:
    console.print(
        f"{outcome.ok:,} ok, {outcome.diverged:,} diverged, {outcome.failed:,} failed, "
        f"{f'{outcome.blocked:,} blocked, ' if outcome.blocked else ''}{outcome.left:,} left"
    )
    if outcome.interrupted:
        console.print("interrupted; the same command runs the rest")
        raise typer.Exit(INTERRUPTED)
    console.print(f"harness table {escape(str(study))}")
    if _not_ok(study):
        console.print(
            f"some runs are not ok: `harness status {escape(str(study))}` says which and why"
        )
        raise typer.Exit(SOME_FAILED)


def _not_ok(study: Path) -> bool:
    """Say whether any planned run of the study, of this call or an earlier one, is not ok."""
    from harness.results import load_study

    return not load_study(study).missing.empty


def _points(grid: FrozenGrid) -> str:
    counts = sorted({len(recipes) for recipes in grid.recipes.values()})
    return " or ".join(map(str, counts))
