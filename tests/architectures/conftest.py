"""Each architecture's tiny checkpoint, made once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.checkpoints import discover
from harness.spec import Attention, Checkpoint, Pooling
from tests.architectures.zoo import ZOO, save
from tests.small_world import SmallWorld

Make = Callable[..., Checkpoint]


@pytest.fixture(scope="session")
def zoo(world: SmallWorld, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Give a function that makes the checkpoint of an architecture, or finds the one made."""
    folder = tmp_path_factory.mktemp("zoo")

    def make(
        name: str, attention: Attention | None = None, pooling: Pooling | None = None
    ) -> Checkpoint:
        place: Path = folder / name
        if not place.exists():
            save(name, place, world.folder / "data" / "corpus.txt")
        return discover(place, attention=attention, pooling=pooling).checkpoints[0]

    return make


@pytest.fixture(params=sorted(ZOO))
def name(request: pytest.FixtureRequest) -> str:
    """Each architecture in turn."""
    return str(request.param)
