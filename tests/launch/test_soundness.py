"""Checkpoints that can't be used are found before the start: one of many is a named skip."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, normalizers
from transformers import PreTrainedTokenizerFast

from harness.checkpoints import discover
from harness.errors import CheckpointError, DataError
from harness.grid import FrozenGrid
from harness.launch.soundness import skip_unsound
from harness.spec import BeirCollection, FurtherCollection
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


FAR = FurtherCollection(native=BeirCollection(format="beir", folder="toy_search"), max_length=2)


@pytest.mark.parametrize("change", [{"query_max_length": 2}, {"collections": {"far": FAR}}])
def test_a_length_of_queries_or_of_further_documents_without_room_is_found_as_well(
    change, world: SmallWorld, tmp_path: Path
) -> None:
    assert skip_unsound(world.grid("toy_search"), tmp_path).checkpoints
    short = world.tasks["toy_search"].model_copy(update=change)
    grid = world.grid("toy_search", tasks=(short,))
    with pytest.raises(DataError, match="task toy_search, checkpoint encoder: max_length 2"):
        skip_unsound(grid, tmp_path)


def test_a_sound_checkpoint_is_tried_once(world: SmallWorld, tmp_path: Path) -> None:
    tried: list[str] = []
    for _ in range(2):
        grid = world.grid("toy_sentiment")
        assert skip_unsound(grid, tmp_path, lambda item: tried.append(item.name)) == grid
    assert tried == ["encoder"]


def drop(folder: Path, characters: str) -> None:
    """Let the tokenizer read texts without some characters: its offsets leave them out."""
    path = folder / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.normalizer = normalizers.Replace(Regex(characters), "")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", sep_token="[SEP]"
    ).save_pretrained(folder)


def test_a_tokenizer_that_can_not_cut_out_answers_stops_a_grid_with_such_a_task(
    world: SmallWorld, tmp_path: Path
) -> None:
    for name, characters in (("first", "[()]"), ("second", "[;?]")):
        drop(shutil.copytree(world.folder / "encoder", tmp_path / "many" / name), characters)
    shutil.copytree(world.folder / "encoder", tmp_path / "many" / "good")
    found = discover(tmp_path / "many").checkpoints
    # Other tasks don't need offsets: the checkpoint is good for them, now and for later grids.
    others = world.grid("toy_sentiment", "toy_entities", checkpoints=found)
    assert len(skip_unsound(others, tmp_path / "cache").checkpoints) == 3
    grid = world.grid("toy_sentiment", "toy_answers", checkpoints=found)
    for _ in range(2):  # it is not remembered as good
        with pytest.raises(DataError) as caught:
            skip_unsound(grid, tmp_path / "cache")
        first, second = str(caught.value).split("\n")
        assert first.startswith("task toy_answers, checkpoint first: ")
        assert second.startswith("task toy_answers, checkpoint second: ")
        assert "'(' at 13 is in no token" in first
        assert "';' at 31 is in no token" in second
        assert first.endswith("this grid needs to do without first, or without toy_answers")
    good = world.grid("toy_answers", checkpoints=[c for c in found if c.name == "good"])
    assert skip_unsound(good, tmp_path / "cache") == good


def test_all_lengths_without_room_are_named_at_once(world: SmallWorld, tmp_path: Path) -> None:
    short = [world.tasks[name] for name in ("toy_sentiment", "toy_similarity")]
    short = [task.model_copy(update={"max_length": 2}) for task in short]
    grid = world.grid("toy_sentiment", "toy_similarity", tasks=tuple(short))
    with pytest.raises(DataError, match=r"task toy_sentiment.*\ntask toy_similarity"):
        skip_unsound(grid, tmp_path)


def test_room_is_counted_with_all_that_stands_between_two_texts(
    world: SmallWorld, tmp_path: Path
) -> None:
    def grid(name: str, length: int) -> FrozenGrid:
        short = world.tasks[name].model_copy(update={"max_length": length})
        return world.grid(name, tasks=(short,))

    # [CLS] a [SEP], and [CLS] a [SEP] b [SEP], with two tokens a text at least.
    assert skip_unsound(grid("toy_sentiment", 6), tmp_path).checkpoints
    for name in ("toy_similarity", "toy_answers"):
        with pytest.raises(DataError, match=f"task {name}.* leaves 3 tokens for the text"):
            skip_unsound(grid(name, 6), tmp_path)
        assert skip_unsound(grid(name, 7), tmp_path).checkpoints
