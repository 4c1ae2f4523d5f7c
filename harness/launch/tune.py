"""The shards of a plan through Ray Tune, one trial a shard: the only file that imports ray.

Tune schedules and nothing else: it searches nothing, keeps no results and is never restored. The
ledger says what is done, so a study that was interrupted is planned again. Actors are reused, and
Tune's own files go to a temporary folder.
"""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import ray
from ray import tune
from ray.exceptions import RayActorError
from ray.tune.stopper import NoopStopper

from harness.errors import InputError
from harness.execute import WorkerLostError, Workplace, write_lost_run
from harness.launch.follow import Progress
from harness.launch.lifeline import Process, is_gone, this_process
from harness.launch.local import Executor, MakeWorker, make_real_worker
from harness.launch.outcome import OnRecord, Outcome, Tally
from harness.launch.plan import Plan, Shard
from harness.launch.slots import count_cores
from harness.launch.surroundings import interruption, tune_settings, worker_environment
from harness.spec import Run

MAX_DEATHS = 3
"""A shard is given up after so many dead workers in a row without a record between them."""

OBJECT_STORE_BYTES = 256 << 20
"""Only shards travel through it; Ray's default takes a third of the memory."""


class ShardTrainable(tune.Trainable):  # type: ignore[misc]
    """One trial: the runs of a shard, one a step. Its worker outlives it, for the next shard."""

    def setup(
        self,
        config: dict[str, Any],
        shards: Sequence[Any] = (),
        workplace: Workplace | None = None,
        driver: Process | None = None,
        make_worker: MakeWorker = make_real_worker,
    ) -> None:
        """Take the first shard; the worker is made in the first step, where faults are seen."""
        self._shards = shards
        self._workplace = workplace
        self._driver = driver
        self._make_worker = make_worker
        self._worker: Executor | None = None
        self._take(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take another shard, keeping what the worker has loaded."""
        self._take(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """Execute the next run of the shard."""
        if self._worker is None:
            assert self._workplace is not None
            self._worker = self._make_worker(self._workplace, self._leave_if_orphaned)
        run = self._left.popleft()
        record = self._worker.execute(run)
        return {"run_id": run.run_id, "status": record["status"], "done": not self._left}

    def _take(self, config: dict[str, Any]) -> None:
        shard: Shard = ray.get(self._shards[config["shard"]])
        self._left: deque[Run] = deque(shard.runs)

    def _leave_if_orphaned(self) -> None:
        if self._driver is not None and is_gone(self._driver):
            os._exit(1)  # the run is no longer ours: see harness.launch.lifeline


def run_tune(
    plan: Plan,
    workplace: Workplace,
    *,
    address: str | None = None,
    workers: int | None = None,
    gpus_per_run: float = 0.0,
    on_record: OnRecord | None = None,
    on_interrupt: Callable[[], None] | None = None,
    make_worker: MakeWorker = make_real_worker,
) -> Outcome:
    """Execute the shards of a plan on a Ray cluster, or on one made for it on this machine.

    `address`: None for a cluster of our own (or that of `RAY_ADDRESS`), else `auto`, `host:port` or
    `ray://host:port`; study, data and checkpoints must then lie on a file system that all machines
    see. `workers`: runs at a time; None: as many as the cluster has room for. `on_record` is called
    from another thread.

    The first Ctrl-C calls `on_interrupt`, gives runs in flight a few seconds to end, and returns;
    the second ends everything at once. A run whose worker died gets a record with status `failed`
    and error type `WorkerDied`; the rest of its shard goes to another worker.

    Raises:
        InputError: there is no cluster at the address.
        RuntimeError: a worker failed outside of any run.
    """
    tally = Tally((run.run_id for run in plan.runs), on_record)
    stop = threading.Event()
    if not plan.shards:
        return tally.outcome()
    try:
        with (
            tune_settings(),
            _connection(address, workplace, workers),
            nullcontext() if _is_client() else interruption(stop, on_interrupt),
            Progress(plan.study, tally, stop) as progress,
        ):
            resources = {"cpu": workplace.threads, "gpu": gpus_per_run}
            scheduler = _Scheduler(workplace, make_worker, resources, workers, stop)
            _run_rounds(plan.shards, scheduler, progress)
    except KeyboardInterrupt:
        stop.set()
    return tally.outcome(interrupted=stop.is_set())


# --- rounds: shards whose worker died go on in the next one ------------------------------


@dataclass(frozen=True)
class _Scheduler:
    """Hands shards to Tune."""

    workplace: Workplace
    make_worker: MakeWorker
    resources: dict[str, float]
    workers: int | None
    stop: threading.Event

    def run(self, shards: Sequence[Shard]) -> list[Exception | None]:
        """Run shards until all have ended; give each one's error."""
        trainable = tune.with_parameters(
            ShardTrainable,
            shards=[ray.put(shard) for shard in shards],
            workplace=self.workplace,
            driver=this_process(),
            make_worker=self.make_worker,
        )
        with tempfile.TemporaryDirectory(prefix="harness-tune-") as scratch:
            analysis = tune.run(
                trainable,
                name="shards",
                config={"shard": tune.grid_search(list(range(len(shards))))},
                resources_per_trial=self.resources,
                max_concurrent_trials=self.workers,
                storage_path=scratch,
                reuse_actors=True,
                max_failures=0,
                raise_on_failed_trial=False,
                stop=None if _is_client() else _StopAll(self.stop),
                verbose=0,
            )
            errors: list[Exception | None] = [None] * len(shards)
            for trial in analysis.trials:
                errors[trial.config["shard"]] = trial.get_pickled_error()
        return errors


class _StopAll(tune.Stopper):  # type: ignore[misc]
    """Ends all trials once an event is set."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        return False

    def stop_all(self) -> bool:
        return self._event.is_set()

    def __reduce__(self) -> tuple[Any, ...]:
        return NoopStopper, ()  # Tune writes its stopper into a snapshot that nobody reads


def _run_rounds(shards: Sequence[Shard], scheduler: _Scheduler, progress: Progress) -> None:
    """Run shards, and again what dead workers left of them."""
    tries = [(shard, 0) for shard in shards]
    while tries and not scheduler.stop.is_set():
        errors = scheduler.run([shard for shard, _ in tries])
        progress.catch_up()
        left = []
        for (shard, deaths), error in zip(tries, errors, strict=True):
            rest = [run for run in shard.runs if progress.tally.is_open(run.run_id)]
            if error is None or not rest:
                continue
            if isinstance(error, RayActorError):
                deaths = deaths + 1 if rest[0] is shard.runs[0] else 1
                write_lost_run(rest.pop(0), scheduler.workplace, _first_line(error))
            elif not isinstance(error, WorkerLostError):
                raise RuntimeError(f"a worker failed outside of any run: {error}") from error
            if rest and deaths < MAX_DEATHS:
                left.append((Shard(tuple(rest)), deaths))
        tries = left
    progress.catch_up()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


# --- the cluster ---------------------------------------------------------------------------


@contextmanager
def _connection(address: str | None, workplace: Workplace, workers: int | None) -> Iterator[None]:
    """Connect to a cluster or make one; leave a connection that was there before as it was."""
    if ray.is_initialized():
        yield
        return
    settings: dict[str, Any] = {
        "runtime_env": {"env_vars": worker_environment(workplace.threads)},
        "log_to_driver": False,
        "logging_level": logging.ERROR,
    }
    if address is None and "RAY_ADDRESS" not in os.environ:
        cores = max(count_cores(), workplace.threads * (workers or 1))
        settings |= {
            "address": "local",
            "num_cpus": cores,
            "include_dashboard": False,
            "object_store_memory": OBJECT_STORE_BYTES,
        }
    else:
        settings["address"] = address
    try:
        try:
            ray.init(**settings)
        except (ConnectionError, ImportError, ValueError) as error:
            raise InputError(
                f"no Ray cluster at address {address!r}: {error}. "
                "(A cluster with token authentication needs RAY_AUTH_MODE=token and the token.)"
            ) from None
        yield
    finally:
        ray.shutdown()


def _is_client() -> bool:
    return bool(ray.util.client.ray.is_connected())
