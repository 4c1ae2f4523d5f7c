"""What Ray needs around it: Tune's settings, the environment of workers, and what Ctrl-C does."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TUNE_SETTINGS = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # no CSV, JSON and TensorBoard files a trial
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",  # nobody restores an experiment
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # ours says how to go on
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "RAY_AIR_NEW_OUTPUT": "0",  # the old engine is silent when asked
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
THREAD_SETTINGS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
PASSED_ON = (
    "HARNESS_METRICS",
    "HF_EVALUATE_CACHE",
    "HF_EVALUATE_OFFLINE",
    "HF_MODULES_CACHE",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_HUB_OFFLINE",
    "HF_DATASETS_CACHE",
    "HF_DATASETS_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "TOKENIZERS_PARALLELISM",
)
"""What workers must share with the driver. No tokens: Ray's dashboard shows these to everybody."""


@contextmanager
def tune_settings() -> Iterator[None]:
    """Put Tune's environment variables in place, and silence its logger, for a while."""
    before = {name: os.environ.get(name) for name in TUNE_SETTINGS}
    logger = logging.getLogger("ray.tune")
    level = logger.level
    os.environ.update(TUNE_SETTINGS)
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def worker_environment(threads: int) -> dict[str, str]:
    """Give the variables of workers' environment: threads, offline switches, where we lie."""
    variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    variables |= dict.fromkeys(THREAD_SETTINGS, str(threads))
    home = Path(__file__).resolve().parents[2]
    if home.name not in {"site-packages", "dist-packages"}:  # a checkout that may not be installed
        others = os.environ.get("PYTHONPATH", "")
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(home), others]))
    return variables


@contextmanager
def interruption(stop: threading.Event, on_interrupt: Callable[[], None] | None) -> Iterator[None]:
    """Let the first Ctrl-C set the event and the second one raise, where this thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGUSR1)}

    def note(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop.set()
        if on_interrupt is not None:
            on_interrupt()

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        for number, handler in before.items():  # Tune takes SIGUSR1 and does not give it back
            signal.signal(number, handler)
