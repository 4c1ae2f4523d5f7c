"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tests.small_world import SmallWorld, make_small_world

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Give the folder of real benchmark extracts, or skip."""
    folder = Path(os.environ.get("HARNESS_REAL_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real data extracts are not at {folder} (set HARNESS_REAL_DATA)")
    return folder


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> SmallWorld:
    """Give the made-up world with its tiny encoder."""
    return make_small_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the tests out of the user's caches."""
    os.environ["HARNESS_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["HF_MODULES_CACHE"] = str(tmp_path_factory.mktemp("modules"))
