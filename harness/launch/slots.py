"""How many workers run at the same time on this machine, and how many threads each of them gets.

A thread count can change the last digits of a score, so it depends on the grid and the machine
alone: the same for a plain loop and for Ray.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.errors import InputError
from harness.spec import Checkpoint

SMALL_PARAMETERS = 200_000_000
"""Up to this size a second thread costs more in waiting than it gives in arithmetic."""


@dataclass(frozen=True)
class Slots:
    """Workers side by side, threads each, and the part of a GPU that each of them takes."""

    workers: int
    threads: int
    gpus_per_run: float = 0.0


def find_slots(
    checkpoints: Iterable[Checkpoint],
    *,
    threads_per_run: int | Literal["auto"] = "auto",
    workers: int | None = None,
    gpus: int = 0,
    gpus_per_run: float = 1.0,
    cores: int | None = None,
) -> Slots:
    """Divide this machine's cores, and its GPUs where it has any, between workers.

    With `threads_per_run="auto"` and no GPU: one thread where no checkpoint is known to have more
    than 200 million parameters, else all cores divided by the workers. With GPUs: as many workers
    as `gpus_per_run` allows, the cores divided between them.

    Raises:
        InputError: a number below one, or a part of a GPU that is not in (0, 1] nor whole.
    """
    cores = count_cores() if cores is None else cores
    _check(threads_per_run, workers, gpus_per_run if gpus else 1.0)
    if gpus:
        workers = workers or max(1, math.floor(gpus / gpus_per_run))
        threads = max(1, cores // workers) if threads_per_run == "auto" else threads_per_run
        return Slots(workers, threads, gpus_per_run)
    if threads_per_run == "auto":
        small = all((item.parameters or 0) <= SMALL_PARAMETERS for item in checkpoints)
        threads = 1 if small else max(1, cores // (workers or 1))
    else:
        threads = threads_per_run
    return Slots(workers or max(1, cores // threads), threads)


def count_cores() -> int:
    """Count the cores that this process may use: its affinity, and the quota of a container."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return max(1, min(cores, _quota()))


def count_gpus() -> int:
    """Count the GPUs that torch can use.

    Torch takes seconds to import, so it is asked only where a driver for one is installed.
    """
    if not _has_gpu_driver():
        return 0
    import torch

    return torch.cuda.device_count()


def _has_gpu_driver() -> bool:
    """Say whether CUDA's driver library can be loaded, or AMD's driver is there."""
    if Path("/dev/kfd").exists():
        return True
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _quota(path: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Read how many whole cores a control group (version 2) allows; a large number if all."""
    try:
        quota, period = path.read_text().split()
        return int(quota) // int(period)
    except (OSError, ValueError):  # no such file, or the word "max"
        return 1 << 30


def _check(threads: int | Literal["auto"], workers: int | None, gpus_per_run: float) -> None:
    if threads != "auto" and threads < 1:
        raise InputError(f"threads per run: {threads} is below 1; give a number or 'auto'")
    if workers is not None and workers < 1:
        raise InputError(f"workers: {workers} is below 1")
    if gpus_per_run <= 0 or (gpus_per_run > 1 and gpus_per_run != int(gpus_per_run)):
        raise InputError(
            f"GPUs per run: {gpus_per_run} is neither a part (above 0, at most 1) nor whole"
        )
