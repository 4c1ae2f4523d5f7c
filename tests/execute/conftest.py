"""One small world for all tests of execution."""

from __future__ import annotations

import pytest

from tests.small_world import SmallWorld, make_small_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> SmallWorld:
    """Give the made-up world with its tiny encoder."""
    return make_small_world(tmp_path_factory.mktemp("world"))
