"""What is kept of a run: who, where, with what, how long, and how it ended."""

from __future__ import annotations

import math
import platform
import socket
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import DivergedError, RunError
from harness.ledger import LedgerWriter
from harness.spec import PROTOCOL, Run
from harness.version import __version__

Record = dict[str, Any]

TRACEBACK_CHARACTERS = 20_000

MAX_TOKENS = {"cpu": 2_048, "cuda": 16_384}
"""Padded tokens of a batch in prediction: what still fits a processor's cache, what fills a GPU."""


class WorkerLostError(RunError):
    """This process can't execute another run; its last run has a record."""


class StudyLostError(WorkerLostError):
    """No process can write to the study, so none goes on; the last run has no record."""


@dataclass(frozen=True)
class Workplace:
    """Where runs are executed.

    `device` is `cpu` or `cuda`, `threads` are those of one run. `keep` are ids of runs whose
    weights other runs will start from. `batch_tokens`: padded tokens of a batch in prediction;
    None: as many as suit the device.
    """

    study: Path
    data_root: Path | None
    cache: Path
    device: str = "cpu"
    threads: int = 1
    keep: frozenset[str] = frozenset()
    batch_tokens: int | None = None

    @property
    def max_tokens(self) -> int:
        """Padded tokens of a batch in prediction."""
        return self.batch_tokens or MAX_TOKENS[self.device]


class Clock:
    """Adds up the seconds of each phase of a run."""

    def __init__(self) -> None:
        self.started = now()
        self.phase_seconds: dict[str, float] = {}
        self._begin = time.perf_counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what happens inside."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            spent = self.phase_seconds.get(name, 0.0) + time.perf_counter() - begin
            self.phase_seconds[name] = round(spent, 6)

    def seconds(self) -> dict[str, float]:
        """Give the seconds of each phase, and in total since the start."""
        return self.phase_seconds | {"total": round(time.perf_counter() - self._begin, 6)}


def now() -> str:
    """Give the time in UTC, ISO 8601 with microseconds: texts that sort as times do."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def describe_run(run: Run, workplace: Workplace) -> Record:
    """Begin a record: what is known of a run before it starts."""
    source = {} if run.source is None else {"source": run.source}
    return source | {
        "run_id": run.run_id,
        "task": run.task.name,
        "kind": run.task.kind,
        "checkpoint": run.checkpoint.name,
        "fingerprint": run.checkpoint.fingerprint,
        "attention": run.checkpoint.attention,
        "pooling": run.checkpoint.pooling,
        "recipe": run.recipe.model_dump(mode="json"),
        "seed": run.seed,
        "protocol": PROTOCOL,
        "main_metric": run.task.main_metric,
        "threads": workplace.threads,
        "device": workplace.device,
        "precision": run.recipe.precision,
        "versions": versions(),
        "host": socket.gethostname(),
    }


def describe_fault(fault: BaseException) -> Record:
    """Say what went wrong: status and error of the record; the traceback only where it helps."""
    error = {"type": type(fault).__name__, "message": str(fault)}
    if isinstance(fault, DivergedError):
        return {"status": "diverged", "error": error | {"step": fault.step}}
    text = "".join(traceback.format_exception(fault))
    return {"status": "failed", "error": error | {"traceback": text[-TRACEBACK_CHARACTERS:]}}


def keep_finite(scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Leave out what is no number: absent is not zero, and JSON has no NaN."""
    return {
        split: {name: float(value) for name, value in values.items() if math.isfinite(value)}
        for split, values in scores.items()
    }


def write_lost_run(run: Run, workplace: Workplace, message: str) -> None:
    """Append, in the place of a worker that died, the record of the run that it was at."""
    error = {"type": "WorkerDied", "message": message}
    moment = now()
    with LedgerWriter(workplace.study) as ledger:
        ledger.append(
            describe_run(run, workplace)
            | {"status": "failed", "error": error, "started": moment, "finished": moment}
        )


def write_blocked_run(run: Run, workplace: Workplace) -> Record:
    """Append the record of a run that can't start, since the run that it starts from is not ok."""
    message = f"run {run.source}, from which it starts, has no weights: it failed or diverged"
    moment = now()
    with LedgerWriter(workplace.study) as ledger:
        return ledger.append(
            describe_run(run, workplace)
            | {"status": "blocked", "error": {"type": "SourceNotOk", "message": message}}
            | {"started": moment, "finished": moment}
        )


@cache
def versions() -> dict[str, str]:
    """Name the versions of what can change a score, of the modules loaded in this process."""
    found = {"harness": __version__, "python": platform.python_version()}
    for name in ("torch", "transformers", "numpy", "ray"):
        if name in sys.modules:
            found[name] = str(sys.modules[name].__version__)
    return found
