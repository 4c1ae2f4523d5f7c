"""Every reason for which a folder is skipped."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness.checkpoints import discover
from harness.errors import CheckpointError
from harness.weightfiles import count_parameters
from tests.checkpoints.files import safetensors, write_checkpoint, write_sharded


def reason(root: Path) -> str:
    """Give the reason for which the only broken checkpoint beside a good one is skipped."""
    write_checkpoint(root / "zz-good", fill=99)
    (skipped,) = discover(root).skipped
    return skipped.reason


def test_without_config_it_is_skipped(tmp_path: Path) -> None:
    (write_checkpoint(tmp_path / "broken") / "config.json").unlink()
    assert reason(tmp_path) == "no config.json"


@pytest.mark.parametrize("content", ["{", "[]", '"text"'])
def test_an_unreadable_config_is_skipped(tmp_path: Path, content: str) -> None:
    (write_checkpoint(tmp_path / "broken") / "config.json").write_text(content)
    assert reason(tmp_path).startswith("config.json can't be read")


def test_a_config_without_a_model_type_is_skipped(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "broken", config={"hidden_size": 4})
    assert "model_type" in reason(tmp_path)


def test_without_weights_it_is_skipped(tmp_path: Path) -> None:
    (write_checkpoint(tmp_path / "broken") / "model.safetensors").unlink()
    assert reason(tmp_path).startswith("no weights")


def test_an_adapter_is_skipped_and_called_so(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "broken")
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text("{}")
    assert "adapter" in reason(tmp_path)


@pytest.mark.parametrize("keep", [0, 5, 8, 40, -1])
def test_truncated_weights_are_skipped(tmp_path: Path, keep: int) -> None:
    file = write_checkpoint(tmp_path / "broken") / "model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])
    assert "model.safetensors is truncated" in reason(tmp_path)


def test_weights_with_a_tail_are_skipped(tmp_path: Path) -> None:
    file = write_checkpoint(tmp_path / "broken") / "model.safetensors"
    file.write_bytes(file.read_bytes() + b"x")
    assert "damaged" in reason(tmp_path)


def test_a_shape_that_does_not_fit_its_bytes_is_damage(tmp_path: Path) -> None:
    file = write_checkpoint(tmp_path / "broken") / "model.safetensors"
    file.write_bytes(safetensors({"weight": ("F32", [2, 2], bytes(12))}))
    assert "does not fit" in reason(tmp_path)


def test_a_page_saved_in_place_of_the_weights_is_named(tmp_path: Path) -> None:
    file = write_checkpoint(tmp_path / "broken") / "model.safetensors"
    file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    assert "truncated or no safetensors file" in reason(tmp_path)


def test_shards_are_counted_together(tmp_path: Path) -> None:
    assert count_parameters(write_sharded(tmp_path / "big")) == 8


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    (write_sharded(tmp_path / "broken") / "model-00002-of-00002.safetensors").unlink()
    assert "1 of 2 weight files" in reason(tmp_path)


def test_a_truncated_shard_is_named(tmp_path: Path) -> None:
    shard = write_sharded(tmp_path / "broken") / "model-00002-of-00002.safetensors"
    shard.write_bytes(shard.read_bytes()[:-2])
    assert "model-00002-of-00002.safetensors is truncated" in reason(tmp_path)


def test_a_shard_without_its_tensor_is_named(tmp_path: Path) -> None:
    folder = write_sharded(tmp_path / "broken")
    first, second = sorted(folder.glob("*.safetensors"))
    second.write_bytes(first.read_bytes())
    assert "expects part1" in reason(tmp_path)


def test_an_index_can_not_reach_out_of_its_folder(tmp_path: Path) -> None:
    index = write_sharded(tmp_path / "broken") / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"part0": "../zz-good/model.safetensors"}}')
    assert "outside of its own folder" in reason(tmp_path)


def test_pickled_weights_are_skipped_with_a_command_that_converts_them(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path / "broken")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "python -c 'from transformers import AutoModel" in reason(tmp_path)


@pytest.mark.slow
def test_the_command_for_pickles_works(tmp_path: Path) -> None:
    import torch
    from transformers import BertConfig, BertForMaskedLM

    folder = tmp_path / "old one"
    config = BertConfig(
        vocab_size=8, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4
    )
    write_checkpoint(folder)
    (folder / "model.safetensors").unlink()
    config.save_pretrained(folder)
    torch.save(BertForMaskedLM(config).state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(CheckpointError) as caught:
        discover(folder)
    command = shlex.split(str(caught.value).split("convert them: ")[1])
    subprocess.run([sys.executable, *command[1:]], check=True, capture_output=True)
    assert discover(folder).checkpoints[0].name == "old one"
