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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray import cloudpickle, tune
from ray.air.execution._internal import actor_manager
from ray.exceptions import NodeDiedError, OutOfMemoryError, RayActorError, RayTaskError
from ray.tune.execution import tune_controller
from ray.tune.experiment import Trial
from ray.tune.stopper import NoopStopper

from harness.errors import InputError
from harness.execute import StudyLostError, WorkerLostError, Workplace, write_lost_run
from harness.launch.follow import Progress, Turns
from harness.launch.lifeline import Process, is_gone, this_process
from harness.launch.local import Executor, MakeWorker, make_real_worker
from harness.launch.outcome import OnRecord, Outcome, Tally
from harness.launch.plan import Plan, Shard
from harness.launch.slots import count_cores
from harness.launch.surroundings import interruption, tune_settings, worker_environment

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
        assert workplace is not None
        self._shards = shards
        self._workplace = workplace
        self._driver = driver
        self._make_worker = make_worker
        self._worker: Executor | None = None
        self._turns = Turns(workplace.study)
        self._take(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take another shard, keeping what the worker has loaded."""
        self._take(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """Execute the next run of the shard that nobody else has done by now."""
        if self._worker is None:
            self._worker = self._make_worker(self._workplace, self._leave_if_orphaned)
        run = self._turns.next()
        if run is None:
            return {"done": True}
        record = self._worker.execute(run)
        return {"run_id": run.run_id, "status": record["status"], "done": not self._turns}

    def _take(self, config: dict[str, Any]) -> None:
        shard: Shard = ray.get(self._shards[config["shard"]])
        self._turns.begin(shard.runs)

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

    The first Ctrl-C calls `on_interrupt` and returns once workers have ended; runs in flight that
    take longer than some seconds are cut off, and have no record. The second Ctrl-C ends everything
    at once. A run whose worker died, or was killed for memory, gets a record with status `failed`
    and error type `WorkerDied`; the rest of its shard goes to another worker.

    Raises:
        InputError: there is no cluster at the address.
        StudyLostError: the study can't be written.
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
            _deaths_of_all_kinds(),
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
                callbacks=None if _is_client() else [_StopAtLostStudy(self.stop)],
                verbose=0,
            )
            errors: list[Exception | None] = [None] * len(shards)
            for trial in analysis.trials:
                errors[trial.config["shard"]] = _error_of(trial)
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


class _StopAtLostStudy(tune.Callback):  # type: ignore[misc]
    """Sets an event once a worker can't write to the study: no other one could."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def on_trial_error(self, iteration: int, trials: list[Trial], trial: Trial, **_: Any) -> None:
        path = trial.pickled_error_file  # `get_pickled_error` finds it only when all has ended
        if path is not None:
            error = cloudpickle.loads(Path(path).read_bytes())
            if isinstance(error, StudyLostError):
                self._event.set()


def _run_rounds(shards: Sequence[Shard], scheduler: _Scheduler, progress: Progress) -> None:
    """Run shards, and again what dead workers left of them."""
    tries = [(shard, 0) for shard in shards]
    while tries and not scheduler.stop.is_set():
        errors = scheduler.run([shard for shard, _ in tries])
        progress.catch_up()
        for error in errors:
            _raise_fault(error)
        left = []
        for (shard, deaths), error in zip(tries, errors, strict=True):
            rest = [run for run in shard.runs if progress.tally.is_open(run.run_id)]
            if not rest or (error is None and scheduler.stop.is_set()):
                continue
            if error is None:
                raise RuntimeError(f"{len(rest)} runs of a shard have no record, and no error")
            if isinstance(error, RayActorError):
                deaths = deaths + 1 if rest[0] is shard.runs[0] else 1
                write_lost_run(rest.pop(0), scheduler.workplace, _cause(error))
            if rest and deaths < MAX_DEATHS:
                left.append((Shard(tuple(rest)), deaths))
        tries = left
    progress.catch_up()


# --- how a trial ended ---------------------------------------------------------------------


@contextmanager
def _deaths_of_all_kinds() -> Iterator[None]:
    """Let Tune take a worker killed for memory, or lost with its machine, for a dead one.

    Ray has classes of their own for these errors. Tune asks for RayActorError alone, and ends all
    trials at any other.
    """
    modules = (actor_manager, tune_controller)
    for module in modules:
        module.RayActorError = (RayActorError, OutOfMemoryError, NodeDiedError)
    try:
        yield
    finally:
        for module in modules:
            module.RayActorError = RayActorError


def _error_of(trial: Trial) -> Exception | None:
    """Give the error of a trial; one that Tune keeps as a text alone is a worker's death."""
    if trial.status != Trial.ERROR:
        return None
    error: Exception | None = trial.get_pickled_error()
    return error or RayActorError(error_msg=str(trial.get_error()))


def _is_worker_gone(error: Exception) -> bool:
    """Say whether another worker can go on."""
    return isinstance(error, RayActorError | WorkerLostError) and not isinstance(
        error, StudyLostError
    )


def _raise_fault(error: Exception | None) -> None:
    if isinstance(error, StudyLostError):
        raise StudyLostError(str(error.cause if isinstance(error, RayTaskError) else error))
    if error is not None and not _is_worker_gone(error):
        raise RuntimeError(f"a worker failed outside of any run: {error}") from error


def _cause(error: Exception) -> str:
    """Say in a line why a worker died."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith("Failure #")]
    first = told[0] if told else "no reason is known"
    return f"killed for memory: {first}" if "low on memory" in first else first


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
