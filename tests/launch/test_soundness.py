"""Checkpoints that can't be used are found before the start: one of many is a named skip."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from harness.checkpoints import discover
from harness.errors import CheckpointError, DataError
from harness.launch.soundness import skip_unsound
from tests.small_world import SmallWorld


def spoil_tokenizer(folder: Path) -> None:
    path = folder / "tokenizer.json"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def spoil_config(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hidden_size": 24}))


def spoil_type(folder: Path) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_type": "bart_of_mine"}))


@pytest.mark.parametrize("spoil", [spoil_tokenizer, spoil_config, spoil_type])
def test_a_checkpoint_that_can_not_be_loaded_is_skipped_by_name(
    spoil, world: SmallWorld, tmp_path: Path
) -> None:
    spoil(shutil.copytree(world.folder / "encoder", tmp_path / "many" / "spoilt"))
    shutil.copytree(world.folder / "encoder", tmp_path / "many" / "good")
    found = discover(tmp_path / "many").checkpoints
    grid = world.grid("toy_sentiment", checkpoints=found)
    sound = skip_unsound(grid, tmp_path / "cache")
    assert [item.name for item in sound.checkpoints] == ["good"]
    names = {item.name for item in (*sound.skipped, *discover(tmp_path / "many").skipped)}
    assert names == {"spoilt"}


def test_an_attention_that_an_architecture_can_not_have_is_found_before_the_start(
    world: SmallWorld, tmp_path: Path
) -> None:
    turned = world.encoder.model_copy(update={"attention": "causal"})
    with pytest.raises(CheckpointError, match="no checkpoint can be used"):
        skip_unsound(world.grid("toy_sentiment", checkpoints=(turned,)), tmp_path)


def test_a_length_without_room_for_text_is_found_before_the_start(
    world: SmallWorld, tmp_path: Path
) -> None:
    short = world.tasks["toy_sentiment"].model_copy(update={"max_length": 2})
    grid = world.grid("toy_sentiment", tasks=(short,))
    with pytest.raises(DataError, match="task toy_sentiment, checkpoint encoder: max_length 2"):
        skip_unsound(grid, tmp_path)


def test_a_sound_checkpoint_is_tried_once(world: SmallWorld, tmp_path: Path) -> None:
    tried: list[str] = []
    for _ in range(2):
        grid = world.grid("toy_sentiment")
        assert skip_unsound(grid, tmp_path, lambda item: tried.append(item.name)) == grid
    assert tried == ["encoder"]
