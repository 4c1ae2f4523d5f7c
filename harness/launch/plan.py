"""What is left to run of a study, cut into shards.

A shard's runs share checkpoint and task, so that one warm worker keeps data and weights between
them. Inside a shard a seed's rates follow each other: they see the same batches. Long shards are
cut so that all workers are busy to the end, and the biggest shards come first.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.execute.kept import kept_weights
from harness.launch.cost import Cost, TaskSize, estimate_cost, read_history
from harness.ledger import latest_records, read_ledger
from harness.spec import Checkpoint, Run, Task

if TYPE_CHECKING:
    from harness.grid import FrozenGrid

__all__ = ["Cost", "Plan", "Shard", "TaskSize", "make_plan", "make_shards"]

SHARDS_PER_WORKER = 4
"""Enough pieces for workers to finish at about the same time, few enough to load data rarely."""


@dataclass(frozen=True)
class Shard:
    """Runs of one checkpoint on one task, executed one after another by one worker."""

    runs: tuple[Run, ...]

    @property
    def task(self) -> Task:
        """The task that all its runs share."""
        return self.runs[0].task

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that all its runs share."""
        return self.runs[0].checkpoint

    def __len__(self) -> int:
        """Count its runs."""
        return len(self.runs)


@dataclass(frozen=True)
class Plan:
    """The runs of a study: how many there are, how many are answered, and the rest as shards.

    `tests` counts each run once a test set: the main one, and those further ones of its task.
    `done` have scores or diverged, `failed` have failed and are not tried again. `waiting` start
    from runs that are in the shards themselves, `blocked` from runs that failed or diverged;
    `newly_blocked` are those of them that have no record which says so.
    """

    study: Path
    total: int
    tests: int
    done: int
    failed: int
    shards: tuple[Shard, ...]
    cost: Cost | None = None
    waiting: tuple[Run, ...] = ()
    blocked: tuple[Run, ...] = ()
    newly_blocked: tuple[Run, ...] = ()

    @property
    def to_run(self) -> int:
        """Count the runs in the shards, and those that wait for them."""
        return sum(len(shard) for shard in self.shards) + len(self.waiting)

    @property
    def sources(self) -> frozenset[str]:
        """Collect the ids of the runs whose weights those that wait will start from."""
        return frozenset(run.source for run in self.waiting if run.source is not None)

    @property
    def kept_bytes(self) -> int:
        """Count the bytes of the weights that are kept for the runs that wait (fp32)."""
        sizes = {run.source: run.checkpoint.parameters or 0 for run in self.waiting}
        return 4 * sum(sizes.values())

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs in the shards, in their order."""
        return tuple(run for shard in self.shards for run in shard.runs)


def make_plan(
    frozen: FrozenGrid,
    study: Path,
    *,
    workers: int = 1,
    retry_failed: bool = False,
    sizes: Mapping[str, TaskSize] | None = None,
    flops_per_second: float | None = None,
) -> Plan:
    """Say which runs of a frozen grid have no answer yet, group them, and add up what they cost.

    Cost is None without `sizes` (task name -> size). `flops_per_second` is the rate of one worker
    (`cost.measure_flops_per_second`), needed for hours where the ledger has no earlier runs.

    Raises:
        StudyError: the ledger can't be read.
    """
    records = read_ledger(study) if study.is_dir() else []
    status = {run_id: record["status"] for run_id, record in latest_records(records).items()}
    # Two folders with the same content are the same checkpoint: their runs are made once.
    runs = {run.run_id: run for run in frozen.runs()}
    states = Counter(status.get(run_id, "missing") for run_id in runs)
    open_states = {"missing", "failed"} if retry_failed else {"missing"}
    left, waiting, blocked = _sort_out(runs, status, open_states, study)
    cost = None
    if sizes is not None:
        cost = estimate_cost(
            [*left, *waiting],
            sizes,
            workers=workers,
            flops_per_second=flops_per_second,
            history=read_history(records),
        )
    return Plan(
        study=study,
        total=len(runs),
        tests=sum(1 + len(run.task.further) for run in runs.values()),
        done=states["ok"] + states["diverged"],
        failed=0 if retry_failed else states["failed"],
        shards=tuple(make_shards(left, workers)),
        cost=cost,
        waiting=tuple(waiting),
        blocked=tuple(blocked),
        newly_blocked=tuple(run for run in blocked if status.get(run.run_id) != "blocked"),
    )


def _sort_out(
    runs: Mapping[str, Run], status: Mapping[str, str], open_states: set[str], study: Path
) -> tuple[list[Run], list[Run], list[Run]]:
    """Part the runs that have no answer into those that can run, wait, and are blocked.

    A run that others start from is made again where its weights are no longer there.
    """
    to_do = {
        run_id for run_id in runs if status.get(run_id, "missing") in open_states | {"blocked"}
    }
    sources = {runs[run_id].source for run_id in to_do} - {None}
    to_do |= {
        source
        for source in sources
        if source and status.get(source) == "ok" and not kept_weights(study, source).is_file()
    }
    left: list[Run] = []
    waiting: list[Run] = []
    blocked: list[Run] = []
    for run_id, run in runs.items():
        if run_id not in to_do:
            continue
        if run.source is None or (run.source not in to_do and status.get(run.source) == "ok"):
            left.append(run)
        else:
            (waiting if run.source in to_do else blocked).append(run)
    return left, waiting, blocked


def make_shards(runs: Iterable[Run], workers: int) -> list[Shard]:
    """Cut runs into shards for that many workers, biggest first.

    A shard has at most a fourth of a worker's share of all runs, but a seed's rates stay together.
    """
    groups: defaultdict[tuple[str, str], defaultdict[int, list[Run]]] = defaultdict(
        lambda: defaultdict(list)
    )
    count = 0
    for run in runs:
        groups[run.checkpoint.identity, run.task.identity][run.seed].append(run)
        count += 1
    limit = math.ceil(count / (SHARDS_PER_WORKER * workers))
    shards = [shard for seeds in groups.values() for shard in _cut(list(seeds.values()), limit)]
    return sorted(shards, key=_work, reverse=True)  # stable: the grid's order among equals


def _cut(seeds: list[list[Run]], limit: int) -> list[Shard]:
    """Split one group, a list of runs a seed, into pieces of about equal numbers of seeds."""
    pieces = min(len(seeds), math.ceil(sum(map(len, seeds)) / limit))
    bounds = [round(piece * len(seeds) / pieces) for piece in range(pieces + 1)]
    return [
        Shard(tuple(run for seed in seeds[low:high] for run in seed))
        for low, high in itertools.pairwise(bounds)
    ]


def _work(shard: Shard) -> int:
    examples = sum(run.recipe.max_steps * run.recipe.batch_size for run in shard.runs)
    return examples * (shard.checkpoint.parameters or 1)
