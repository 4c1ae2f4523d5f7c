"""What surrounds Ray is put in place and taken away again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.launch.surroundings import (
    TUNE_SETTINGS,
    interruption,
    tune_settings,
    worker_environment,
)

ROOT = Path(__file__).parents[2]


def test_tunes_settings_last_as_long_as_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNE_GLOBAL_CHECKPOINT_S", "7")
    before = dict(os.environ)
    with tune_settings():
        assert os.environ.items() >= TUNE_SETTINGS.items()
    assert dict(os.environ) == before


def test_workers_get_their_threads_and_the_offline_switch_but_no_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_TOKEN", "secret")
    variables = worker_environment(threads=3)
    assert variables["OMP_NUM_THREADS"] == variables["MKL_NUM_THREADS"] == "3"
    assert variables["HF_HUB_OFFLINE"] == "1"
    assert "secret" not in variables.values()


def test_the_first_ctrl_c_sets_the_event_and_the_second_raises() -> None:
    before = signal.getsignal(signal.SIGINT)
    stop, told = threading.Event(), []
    with interruption(stop, lambda: told.append("stopping")):
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        assert told == ["stopping"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_driver_of_ray_loads_neither_torch_nor_transformers() -> None:
    code = "import sys, harness.launch.tune; print({'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
